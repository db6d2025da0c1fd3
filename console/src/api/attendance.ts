/** Without input for this long, requests that the page sends on its own are no use of the session. */
const unattendedMs = 60_000;

const inputs = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'] as const;

/** Records when the user gave the last input to the page. */
export interface Attendance {
  readonly isUnattended: () => boolean;
}

export function watchAttendance(
  target: Pick<EventTarget, 'addEventListener'>,
  now: () => number = () => Date.now(),
): Attendance {
  let lastInputAt = now();
  const note = (): void => {
    lastInputAt = now();
  };
  for (const input of inputs) target.addEventListener(input, note, { capture: true, passive: true });
  return { isUnattended: () => now() - lastInputAt > unattendedMs };
}
