import type { CheckResult, VerifyResult } from '../../imports/run/results.ts';
import { CommandError } from '../exit-codes.ts';
import { numberText } from '../progress-line.ts';
import type { RunView } from './run-view.ts';

/** What the stages found, as far as the run got. */
export interface Findings {
  readonly check?: CheckResult | undefined;
  /** Of the check, also where its whole result is not shown. */
  readonly warnings?: readonly string[];
  readonly verify?: VerifyResult | undefined;
  /** What readers noted, also where the whole check is not shown. */
  readonly notes?: CheckResult['notes'] | undefined;
}

/** What the comparison with the store says to a script; undefined: exact. */
export function verdictEnd({ verdict, detail }: VerifyResult): CommandError | undefined {
  switch (verdict) {
    case 'exact':
      return undefined;
    case 'exact_by_id':
      return new CommandError('exactById', detail);
    case 'unreadable':
      return new CommandError('unverified', detail);
    case 'different':
      return new CommandError('different', detail);
  }
}

/** What the check refuses is refused again, unless something is changed: its reason says what. */
function failure({ reason, stage }: RunView, check: CheckResult | undefined, command: string): CommandError {
  const isRefused = (stage === 'load' || stage === 'replace') && check?.verdict === 'failed';
  return new CommandError('failed', isRefused ? reason : `${reason} (in ${stage}; ${command})`);
}

/** How a person comes back to the run: one that is paused simply goes on, one that failed says itself what has to be done. */
export interface WayBack {
  readonly paused: string;
  readonly failed: string;
}

/** How the command ends; undefined: done, and exact. */
export function endOf(
  view: RunView,
  { check, verify, notes = check?.notes }: Findings,
  way: WayBack,
): CommandError | undefined {
  if (view.state === 'paused') return new CommandError('paused', `paused in ${view.stage}; ${way.paused}`);
  if (view.state === 'failed') return failure(view, check, way.failed);
  if (view.state === 'cancelled') return new CommandError('failed', 'the run was cancelled; what was loaded stays');
  // Also of a run that was taken back: nothing is left that could be wrong.
  if (view.state !== 'completed') return undefined;
  if (verify?.verdict === 'different') return new CommandError('different', verify.detail);
  if (view.stages === 2 && check?.verdict === 'failed') {
    return new CommandError('failed', `the check failed: ${check.problems.join(' ')}`);
  }
  const { rejected } = view.totals;
  const isIncomplete = (notes ?? []).some(({ kind }) => kind === 'incomplete');
  // The warnings are shown already.
  const sentences = [
    ...(rejected > 0 ? [`${numberText(rejected)} did not get in; the rejected records say why`] : []),
    ...(isIncomplete ? ['the source is incomplete; the warnings say what it lacks'] : []),
  ];
  if (sentences.length > 0) return new CommandError('rejected', sentences.join('. '));
  return verify === undefined ? undefined : verdictEnd(verify);
}
