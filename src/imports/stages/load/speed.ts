import type { Clock } from '../../../base/clock.ts';
import { sleep as standardSleep, type Sleep } from '../../../base/retry.ts';

export interface SpeedDeps {
  readonly clock: Clock;
  readonly sleep?: Sleep;
}

/** Resolves when so many events may be sent. */
export type Admit = (events: number, signal: AbortSignal) => Promise<void>;

/**
 * Holds a speed. A batch may go when those before it are paid off, so that no size of batch is too large and nothing that was
 * not used up is saved for later.
 */
export function createSpeedLimit(eventsPerSecond: number, deps: SpeedDeps): Admit {
  const { clock, sleep = standardSleep } = deps;
  if (eventsPerSecond <= 0) return () => Promise.resolve();
  let freeAt = 0;
  return async (events, signal) => {
    const start = Math.max(clock.now(), freeAt);
    freeAt = start + (events / eventsPerSecond) * 1000;
    const waitMs = start - clock.now();
    if (waitMs > 0) await sleep(waitMs, signal);
  };
}

const windowMs = 30_000;

/** How many per second, over the last half minute. */
export function createRate(clock: Clock): { add(count: number): void; perSecond(): number } {
  const startedAt = clock.now();
  let samples: { readonly at: number; readonly count: number }[] = [];
  return {
    add: (count) => {
      const now = clock.now();
      const last = samples.at(-1);
      // A sample per second is enough, and bounds how many there are.
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
