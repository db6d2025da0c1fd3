import { backoffMs } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/clock.ts';
import type { HeldRun } from '../../run/held-run.ts';
import { TargetWaitError } from '../../target.ts';

/** Rejects with the signal's reason when it is aborted. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

export interface PatienceDeps {
  readonly held: Pick<HeldRun, 'signal' | 'waiting'>;
  readonly clock: Clock;
  readonly sleep: Sleep;
  /** Random numbers of the back-off, 0 to 1. */
  readonly random?: () => number;
}

/** Does the work again, without end, for as long as it throws TargetWaitError. Several works share one pause. */
export type Patiently = <T>(work: () => Promise<T>) => Promise<T>;

const firstWaitMs = 1000;
const waitMsMax = 300_000;

export function createPatience({ held, clock, sleep, random }: PatienceDeps): Patiently {
  let attempt = 0;
  let until = 0;
  let waiting = false;
  const pause = (error: TargetWaitError): void => {
    const now = clock.now();
    // Works that fail together are one failure.
    if (now < until) return;
    const waitMs = Math.max(backoffMs(attempt, firstWaitMs, waitMsMax, random), error.retryAfterMs ?? 0);
    attempt += 1;
    until = now + waitMs;
    waiting = true;
    held.waiting({ reason: `${error.message}; trying again at ${timeOf(until)}`, until });
  };
  return async (work) => {
    for (;;) {
      held.signal.throwIfAborted();
      const restMs = until - clock.now();
      if (restMs > 0) await sleep(restMs, held.signal);
      try {
        const done = await work();
        attempt = 0;
        if (waiting) held.waiting(null);
        waiting = false;
        return done;
      } catch (error) {
        if (!(error instanceof TargetWaitError)) throw error;
        pause(error);
      }
    }
  };
}

/** `12:03:10 UTC` */
function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)} UTC`;
}
