import type { Clock } from '../../base/clock.ts';
import { createRetry, type BegunWait, type Retry, type Sleep } from '../../base/retry.ts';
import { RunFailedError, type LeasedRun } from '../run/leased-run.ts';
import { SourceWaitError } from '../source.ts';
import { TargetWaitError } from '../target.ts';

interface StageRetryDeps {
  readonly leased: Pick<LeasedRun, 'signal' | 'waiting'>;
  readonly clock: Clock;
  readonly sleep?: Sleep | undefined;
  /** Random numbers of the back-off, 0 to 1. */
  readonly random?: (() => number) | undefined;
}

const firstWaitMs = 1000;
const targetWaitMsMax = 300_000;
const sourceWaitMsMax = 600_000;
/** Maximum pause that a source can request. */
const retryAfterMsMax = 86_400_000;
/** Attempts after a broken response. */
const brokenTriesMax = 5;

/** Repeats work without limit while it throws TargetWaitError. */
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
 * Repeats work while it throws SourceWaitError: without limit if waiting may help, a few times if the response is broken; then throws
 * RunFailedError. `grew` is passed to createRetry.
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
      if (brokenTries >= brokenTriesMax) throw tooManyTries(error);
      const { retryAfterMs } = error;
      const requestedMs =
        retryAfterMs === undefined ? undefined : Math.min(retryAfterMsMax, Math.max(firstWaitMs, retryAfterMs));
      return { reason: error.message, waitMs: requestedMs ?? backoffMs };
    },
  });
}

function common({ leased, clock, sleep, random }: StageRetryDeps) {
  const onWait = (wait: BegunWait | null): void => (wait === null ? leased.waiting(null) : showWait(leased, wait));
  return { firstWaitMs, signal: leased.signal, onWait, clock, sleep, random };
}

/** Shows what the run waits for, and when it continues. */
export function showWait(
  leased: Pick<LeasedRun, 'waiting'>,
  { reason, until }: Pick<BegunWait, 'reason' | 'until'>,
): void {
  leased.waiting({ reason: `${reason}; trying again at ${timeOf(until)}`, until });
}

function tooManyTries(error: SourceWaitError): RunFailedError {
  const message = `${error.message} (${brokenTriesMax} times in a row); check the source`;
  return new RunFailedError(message, { advice: 'resume', cause: error });
}

/** `12:03:10 UTC` */
function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)} UTC`;
}
