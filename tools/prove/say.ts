const started = performance.now();

/** Prints a line with the seconds since the start. */
export function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}
