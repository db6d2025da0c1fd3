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

/** What follows from what a stage threw. @param failures those before it, in this stage */
export function judgeFailure(error: unknown, failures: number): FailureVerdict {
  if (ends.some((kind) => error instanceof kind)) return { kind: 'end' };
  if (error instanceof SourceWaitError || error instanceof TargetWaitError) {
    const isBroken = error instanceof SourceWaitError && !error.unlimited;
    if (isBroken && failures + 1 >= triesMax) return { kind: 'end' };
    return { kind: 'again', reason: error.message, waitMsMin: error.retryAfterMs ?? 0, unexpected: false };
  }
  const message = error instanceof Error ? error.message : String(error);
  if (isFullDisk(error)) {
    const reason = `the disk is full (${message}); make room`;
    return { kind: 'again', reason, waitMsMin: fullDiskWaitMs, unexpected: false };
  }
  if (failures + 1 >= triesMax) return { kind: 'end' };
  return { kind: 'again', reason: `an unexpected error: ${message}`, waitMsMin: 0, unexpected: true };
}

function isFullDisk(error: unknown): boolean {
  return error instanceof Error && 'code' in error && fullDiskCodes.has(error.code);
}
