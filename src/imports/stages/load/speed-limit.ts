import type { Clock } from '../../../base/clock.ts';
import { sleep as standardSleep, type Sleep } from '../../../base/retry.ts';

interface SpeedDeps {
  readonly clock: Clock;
  readonly sleep?: Sleep;
}

export interface SpeedLimit {
  /** Events that may be sent at the same time: what the speed allows in a second. */
  readonly eventsMax: number;
  /** Resolves when this many events may be sent. */
  readonly admit: (events: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Limits the speed. A batch may be sent once the time for earlier batches has passed, so no batch is too large and unused time is not
 * saved for later.
 */
export function createSpeedLimit(eventsPerSecond: number, deps: SpeedDeps): SpeedLimit {
  const { clock, sleep = standardSleep } = deps;
  if (eventsPerSecond <= 0) return { eventsMax: Infinity, admit: () => Promise.resolve() };
  let freeAt = 0;
  return {
    eventsMax: Math.max(1, Math.floor(eventsPerSecond)),
    admit: async (events, signal) => {
      const start = Math.max(clock.now(), freeAt);
      freeAt = start + (events / eventsPerSecond) * 1000;
      const waitMs = start - clock.now();
      if (waitMs > 0) await sleep(waitMs, signal);
    },
  };
}
