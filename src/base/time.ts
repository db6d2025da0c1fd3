/** Spans of time in ms. */
export const secondMs = 1000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** Midnight UTC of the day that contains a time; both in ms since the epoch. */
export function startOfDay(ms: number): number {
  return Math.floor(ms / dayMs) * dayMs;
}
