import type { Outcome } from './check.ts';

const skewMsMax = 5000;

/** Compares a server's clock with this machine's. The answer took place between two readings of the own clock. */
export async function clockFaults(server: string, read: () => Promise<number>): Promise<Outcome> {
  const before = Date.now();
  const there = await read();
  const after = Date.now();
  const skewMs = there < before ? there - before : there > after ? there - after : 0;
  if (Math.abs(skewMs) < skewMsMax) return [];
  const direction = skewMs > 0 ? 'ahead of' : 'behind';
  return [`the clock of ${server} is ${Math.round(Math.abs(skewMs) / 1000)} s ${direction} that of this machine`];
}
