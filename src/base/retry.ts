import { setTimeout } from 'node:timers/promises';
import { systemClock, type Clock } from './clock.ts';

/** Resolves after `ms`; rejects as soon as the signal is aborted. Tests use one that does not wait. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<unknown>;

export const sleep: Sleep = (ms, signal) => setTimeout(ms, undefined, { signal });

/** Delay in ms before retry number `attempt` (0-based): doubles from `firstMs` up to `maxMs`, with full jitter above half. */
export function backoffMs(attempt: number, firstMs: number, maxMs: number, random: () => number = Math.random): number {
  const full = Math.min(maxMs, firstMs * 2 ** attempt);
  return full / 2 + (random() * full) / 2;
}

export interface Wait {
  /** Reason for the wait, shown to users. */
  readonly reason: string;
  readonly waitMs: number;
}

/** A wait in progress; `until` is in ms since the epoch. */
export interface BegunWait extends Wait {
  readonly until: number;
}

export interface RetryDeps {
  /** Back-off after the first consecutive failure, and its maximum. */
  readonly firstWaitMs: number;
  readonly waitMsMax: number;
  /** Ends waiting; nothing is retried once it is aborted. */
  readonly signal: AbortSignal;
  /**
   * Returns the wait after a failure: the back-off, what the other side requests, or more. `undefined` means a permanent error,
   * which is rethrown; may also throw another error instead. `failures` is the number of consecutive failures before this one.
   */
  readonly judge: (
    error: unknown,
    before: { readonly failures: number; readonly backoffMs: number },
  ) => Wait | undefined;
  /** Called after a failure. True if the work made progress since the last one, which resets the count. */
  readonly grew?: () => boolean;
  /** Called at the beginning of each wait, and with null once the work succeeds after one. */
  readonly onWait?: (wait: BegunWait | null) => void;
  readonly clock?: Clock | undefined;
  readonly sleep?: Sleep | undefined;
  /** Random numbers for the back-off, 0 to 1. */
  readonly random?: (() => number) | undefined;
}

/** Runs the work until it succeeds or fails permanently. Rejects with the signal's reason once it is aborted. */
export type Retry = <T>(work: () => Promise<T>) => Promise<T>;

/** Works under one retry share waits and failure count: failing together counts as one failure. */
export function createRetry(deps: RetryDeps): Retry {
  const { signal, judge, grew, onWait, clock = systemClock } = deps;
  const rest = deps.sleep ?? sleep;
  let failures = 0;
  let waits = 0;
  let until = 0;
  let isWaiting = false;
  const judged = (error: unknown): Wait => {
    if (grew?.() === true) failures = 0;
    const wait = judge(error, {
      failures,
      backoffMs: backoffMs(failures, deps.firstWaitMs, deps.waitMsMax, deps.random),
    });
    if (wait === undefined) throw error;
    return wait;
  };
  return async (work) => {
    for (;;) {
      signal.throwIfAborted();
      const restMs = until - clock.now();
      if (restMs > 0) await rest(restMs, signal).catch((error: unknown) => throwAborted(signal, error));
      const before = waits;
      try {
        const done = await work();
        failures = 0;
        if (isWaiting) onWait?.(null);
        isWaiting = false;
        return done;
      } catch (error) {
        signal.throwIfAborted();
        const wait = judged(error);
        if (waits !== before) continue;
        failures += 1;
        waits += 1;
        until = clock.now() + wait.waitMs;
        isWaiting = true;
        onWait?.({ ...wait, until });
      }
    }
  };
}

function throwAborted(signal: AbortSignal, error: unknown): never {
  throw signal.aborted ? signal.reason : error;
}
