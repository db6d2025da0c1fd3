import { backoffMs } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/clock.ts';
import { RunFailedError, type HeldRun } from '../../run/held-run.ts';
import { SourceWaitError } from '../../source.ts';

const firstWaitMs = 1000;
const waitMsMax = 600_000;
/** Of what the source asks for. */
const retryAfterMsMax = 86_400_000;
/** Tries of an answer that is broken in itself. */
const brokenTriesMax = 5;

export interface PatienceDeps {
  readonly held: Pick<HeldRun, 'signal' | 'waiting'>;
  readonly clock: Clock;
  /** Rejects with the signal's reason when it is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random?: () => number;
}

/**
 * Does the work again for as long as it throws SourceWaitError: without end where waiting may help, a few times where the
 * answer is broken. `grew` is asked after a failure: whether the work came further than before; then counting begins anew.
 * @throws RunFailedError when the answer stays broken
 */
export async function withPatience<T>(
  { held, clock, sleep, random }: PatienceDeps,
  work: () => Promise<T>,
  grew: () => boolean = () => false,
): Promise<T> {
  let tries = 0;
  let brokenTries = 0;
  for (;;) {
    held.signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      held.signal.throwIfAborted();
      if (!(error instanceof SourceWaitError)) throw error;
      if (grew()) tries = brokenTries = 0;
      if (!error.unlimited) brokenTries += 1;
      if (brokenTries >= brokenTriesMax) throw givenUp(error);
      const waitMs = waitFor(error, tries, random);
      tries += 1;
      showWait({ held, clock }, error.message, waitMs);
      await sleep(waitMs, held.signal);
    }
  }
}

/** Says what the run waits for, and when it goes on. */
export function showWait({ held, clock }: Pick<PatienceDeps, 'held' | 'clock'>, reason: string, waitMs: number): void {
  const until = clock.now() + waitMs;
  held.waiting({ reason: `${reason}; trying again at ${timeOf(until)}`, until });
}

function waitFor(error: SourceWaitError, tries: number, random: (() => number) | undefined): number {
  if (error.retryAfterMs === undefined) return backoffMs(tries, firstWaitMs, waitMsMax, random);
  return Math.min(retryAfterMsMax, Math.max(firstWaitMs, error.retryAfterMs));
}

function givenUp(error: SourceWaitError): RunFailedError {
  const message = `${error.message} (${brokenTriesMax} times in a row); look at the source and resume the run`;
  return new RunFailedError(message, { cause: error });
}

/** `12:03:10 UTC` */
function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)} UTC`;
}
