import type { Clock } from '../../base/clock.ts';
import { createRetry, type BegunWait, type Retry, type Sleep } from '../../base/retry.ts';
import { RunFailedError, type LeasedRun } from '../run/leased-run.ts';
import { SourceWaitError } from '../source.ts';
import { TargetWaitError } from '../target.ts';

export interface StageRetryDeps {
  readonly leased: Pick<LeasedRun, 'signal' | 'waiting'>;
  readonly clock: Clock;
  readonly sleep?: Sleep | undefined;
  /** Random numbers of the back-off, 0 to 1. */
  readonly random?: (() => number) | undefined;
}

const firstWaitMs = 1000;
const targetWaitMsMax = 300_000;
const sourceWaitMsMax = 600_000;
/** Of what the source asks for. */
const retryAfterMsMax = 86_400_000;
/** Tries of an answer that is broken in itself. */
const brokenTriesMax = 5;

/** Works are done again, without end, for as long as they throw TargetWaitError. */
export function createTargetRetry(deps: StageRetryDeps): Retry {
  return createRetry({
    ...common(deps),
    waitMsMax: targetWaitMsMax,
    judge: (error, { backoffMs }) => {
      if (!(error instanceof TargetWaitError)) return undefined;
      return { reason: error.message, waitMs: Math.max(backoffMs, error.retryAfterMs ?? 0) };
    },
  });
}

/**
 * The work is done again for as long as it throws SourceWaitError: without end where waiting may help, a few times where the
 * answer is broken; then RunFailedError. `grew`: as createRetry takes it.
 */
export function createSourceRetry(deps: StageRetryDeps, grew: () => boolean = () => false): Retry {
  let brokenTries = 0;
  return createRetry({
    ...common(deps),
    waitMsMax: sourceWaitMsMax,
    grew,
    judge: (error, { failures, backoffMs }) => {
      if (!(error instanceof SourceWaitError)) return undefined;
      if (failures === 0) brokenTries = 0;
      if (!error.unlimited) brokenTries += 1;
      if (brokenTries >= brokenTriesMax) throw givenUp(error);
      const { retryAfterMs } = error;
      const askedMs =
        retryAfterMs === undefined ? undefined : Math.min(retryAfterMsMax, Math.max(firstWaitMs, retryAfterMs));
      return { reason: error.message, waitMs: askedMs ?? backoffMs };
    },
  });
}

function common({ leased, clock, sleep, random }: StageRetryDeps) {
  const onWait = (wait: BegunWait | null): void => (wait === null ? leased.waiting(null) : showWait(leased, wait));
  return { firstWaitMs, signal: leased.signal, onWait, clock, sleep, random };
}

/** Says what the run waits for, and when it goes on. */
export function showWait(
  leased: Pick<LeasedRun, 'waiting'>,
  { reason, until }: Pick<BegunWait, 'reason' | 'until'>,
): void {
  leased.waiting({ reason: `${reason}; trying again at ${timeOf(until)}`, until });
}

function givenUp(error: SourceWaitError): RunFailedError {
  const message = `${error.message} (${brokenTriesMax} times in a row); look at the source`;
  return new RunFailedError(message, { advice: 'resume', cause: error });
}

/** `12:03:10 UTC` */
function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)} UTC`;
}
