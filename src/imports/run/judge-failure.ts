import { StoreUnavailableError } from '../../stores/events/eventstore.ts';
import { FormatOptionsError } from '../formats/format.ts';
import { SettingsError } from '../../plugins/plugin.ts';
import { RunFailedError, RunLostError } from './leased-run.ts';
import { SourceError, SourceWaitError } from '../source.ts';
import { TargetError, TargetWaitError } from '../target.ts';

export type FailureVerdict =
  /** Nothing that waiting would cure: the run fails, or is not ours any more. */
  | { readonly kind: 'end' }
  /** The stage is done again after a while. */
  | { readonly kind: 'again'; readonly reason: string; readonly waitMsMin: number; readonly unexpected: boolean };

const ends = [RunLostError, RunFailedError, SourceError, TargetError, FormatOptionsError, SettingsError];
/** An answer that is broken in itself, and what nobody has foreseen: tried so often. */
const triesMax = 5;
const fullDiskCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL']);
const fullDiskWaitMs = 10_000;

/**
 * What follows from what a stage threw. An unexpected error that comes twice in a row is one that comes always, unless a system or a
 * server gave it a code.
 * @param failures those before it, in this stage
 * @param last the one before it
 */
export function judgeFailure(error: unknown, failures: number, last?: unknown): FailureVerdict {
  if (ends.some((kind) => error instanceof kind)) return { kind: 'end' };
  if (error instanceof SourceWaitError || error instanceof TargetWaitError) {
    const isBroken = error instanceof SourceWaitError && !error.unlimited;
    if (isBroken && failures + 1 >= triesMax) return { kind: 'end' };
    return { kind: 'again', reason: error.message, waitMsMin: error.retryAfterMs ?? 0, unexpected: false };
  }
  if (error instanceof StoreUnavailableError) {
    return { kind: 'again', reason: 'the event store is busy or cannot be reached', waitMsMin: 0, unexpected: false };
  }
  const message = error instanceof Error ? error.message : String(error);
  if (isFullDisk(error)) {
    const reason = `the disk is full (${message}); make room`;
    return { kind: 'again', reason, waitMsMin: fullDiskWaitMs, unexpected: false };
  }
  if (failures + 1 >= triesMax || isRepeated(error, last)) return { kind: 'end' };
  return { kind: 'again', reason: `an unexpected error: ${message}`, waitMsMin: 0, unexpected: true };
}

function isRepeated(error: unknown, last: unknown): boolean {
  if (!(error instanceof Error && last instanceof Error)) return false;
  return error.name === last.name && error.message === last.message && !hasCode(error);
}

function hasCode(error: Error): boolean {
  return 'code' in error && typeof error.code === 'string';
}

/** Whether it ends a run though it was not foreseen: a fault of the program. */
export function isUnexpected(error: unknown): boolean {
  const known = [...ends, SourceWaitError, TargetWaitError, StoreUnavailableError];
  return !known.some((kind) => error instanceof kind) && !isFullDisk(error);
}

function isFullDisk(error: unknown): boolean {
  return error instanceof Error && 'code' in error && fullDiskCodes.has(error.code);
}
