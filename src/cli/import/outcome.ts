import { counted } from '../../base/integer-text.ts';
import type { CheckResult, VerifyResult } from '../../imports/run/results.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { RunView } from './run-view.ts';

/** Results of the stages that have run. */
export interface Findings {
  readonly check?: CheckResult | undefined;
  /** Warnings of the check, also when its result is not shown. */
  readonly warnings?: readonly string[];
  readonly verify?: VerifyResult | undefined;
  /** Notes of readers, also when the check is not shown. */
  readonly notes?: CheckResult['notes'] | undefined;
}

/** Returns how the command ends after verification; `undefined` if exact. */
export function verdictEnd({ verdict, detail }: VerifyResult): CommandError | undefined {
  switch (verdict) {
    case 'exact':
      return undefined;
    case 'exact_by_id':
      // The verification has been shown, with the reason.
      return new CommandError(
        'exactById',
        `every event is stored, but not every property could be compared (exit code ${exitCodes.exactById.code})`,
      );
    case 'unreadable':
      return new CommandError('unverified', detail);
    case 'different':
      return new CommandError('different', detail);
  }
}

/** A failed check fails again unless something changes, which its reason names. */
function failure({ reason, stage }: RunView, check: CheckResult | undefined, command: string): CommandError {
  const isRefused = (stage === 'load' || stage === 'replace') && check?.verdict === 'failed';
  return new CommandError('failed', isRefused ? reason : `${reason} (in the ${stage} stage; ${command})`);
}

/** How the user continues a paused or a failed run. */
interface ResumeHints {
  readonly paused: string;
  readonly failed: string;
}

/** Returns how the command ends; `undefined` if the run is done and exact. */
export function endOf(
  view: RunView,
  { check, verify, notes = check?.notes }: Findings,
  hints: ResumeHints,
): CommandError | undefined {
  if (view.state === 'paused') return new CommandError('paused', `paused in ${view.stage}; ${hints.paused}`);
  if (view.state === 'failed') return failure(view, check, hints.failed);
  if (view.state === 'cancelled') return new CommandError('failed', 'the run was cancelled; loaded events stay');
  // An undone run has nothing left that could be wrong.
  if (view.state !== 'completed') return undefined;
  if (verify?.verdict === 'different') return new CommandError('different', verify.detail);
  if (view.stages === 2 && check?.verdict === 'failed') {
    return new CommandError('failed', `the check failed: ${check.problems.join(' ')}`);
  }
  const { rejected } = view.totals;
  const isIncomplete = (notes ?? []).some(({ kind }) => kind === 'incomplete');
  // The warnings have been shown.
  const sentences = [
    ...(rejected > 0 ? [`${counted(rejected, 'record')} rejected; "millrace import rejected" lists the reasons`] : []),
    ...(isIncomplete ? ['the source is incomplete; see the warnings'] : []),
  ];
  if (sentences.length > 0) return new CommandError('rejected', sentences.join('. '));
  return verify === undefined ? undefined : verdictEnd(verify);
}
