import type { Clock } from '../../base/clock.ts';

const windowMs = 30_000;

/** Measures a rate per second over the last half minute. */
export function createRate(clock: Clock): { add(count: number): void; perSecond(): number } {
  const startedAt = clock.now();
  let samples: { readonly at: number; readonly count: number }[] = [];
  return {
    add: (count) => {
      const now = clock.now();
      const last = samples.at(-1);
      // One sample per second is enough, and bounds their number.
      if (last !== undefined && now - last.at < 1000)
        samples[samples.length - 1] = { ...last, count: last.count + count };
      else samples.push({ at: now, count });
      samples = samples.filter(({ at }) => now - at <= windowMs);
    },
    perSecond: () => {
      const now = clock.now();
      const spanMs = Math.min(windowMs, Math.max(1000, now - startedAt));
      const sum = samples.reduce((total, { at, count }) => (now - at <= windowMs ? total + count : total), 0);
      return Math.round((sum * 1000) / spanMs);
    },
  };
}
