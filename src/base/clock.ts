/** Source of the time, replaceable in tests. Milliseconds since the epoch, UTC. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Whether a value noted at `at` is younger than `ttlMs`. False if the clock went back, since the age is then unknown. */
export function isFresh(at: number, ttlMs: number, now: number): boolean {
  return now >= at && now - at < ttlMs;
}

/** ISO 8601 in UTC with microseconds, as in the API: `2026-11-20T10:00:00.123000Z`. */
export function isoMicros(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, -1)}000Z`;
}

/** As `isoMicros`, from µs since the epoch: `2026-11-20T10:00:00.123456Z`. */
export function isoOfMicros(micros: number): string {
  const seconds = Math.floor(micros / 1_000_000);
  const rest = String(micros - seconds * 1_000_000).padStart(6, '0');
  return `${new Date(seconds * 1000).toISOString().slice(0, -4)}${rest}Z`;
}
