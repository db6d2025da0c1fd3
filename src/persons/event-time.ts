/** ISO 8601 in UTC with microseconds, from µs since the epoch: `2026-11-20T10:00:00.123456Z`. */
export function isoOfMicros(micros: number): string {
  const ms = Math.floor(micros / 1000);
  const rest = String(micros - ms * 1000).padStart(3, '0');
  return `${new Date(ms).toISOString().slice(0, -1)}${rest}Z`;
}
