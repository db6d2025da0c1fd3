/** Delay in ms before retry number `attempt` (0-based): doubles from `firstMs` up to `maxMs`, with full jitter above half. */
export function backoffMs(attempt: number, firstMs: number, maxMs: number, random: () => number = Math.random): number {
  const full = Math.min(maxMs, firstMs * 2 ** attempt);
  return full / 2 + (random() * full) / 2;
}
