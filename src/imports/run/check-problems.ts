import { checkProblemCodes, type CheckProblemCode } from '../../wire/contract/import-runs.ts';
import type { Run, RunTotals } from './run.ts';

/** Returns the share of rejected records, 0 to 1. One record may become several rejected events. */
export function rejectedShare({ records, rejected }: Pick<RunTotals, 'records' | 'rejected'>): number {
  return records === 0 ? 0 : Math.min(1, rejected / records);
}

/**
 * Returns the problems of the check that still prevent a load with the run's present options, also after further rejections by the
 * target. `null` means that the run has not been checked, or that an older version checked it.
 */
export function openCheckProblems({ progress, options, totals }: Run): CheckProblemCode[] | null {
  const found = progress.check?.problems;
  if (found === undefined) return null;
  const isOpen: Readonly<Record<CheckProblemCode, boolean>> = {
    no_events: found.includes('no_events'),
    too_many_rejected: !found.includes('no_events') && rejectedShare(totals) > options.rejectedMax,
    unclear_replace: found.includes('unclear_replace'),
    stored_before: found.includes('stored_before') && options.again !== true,
  };
  return checkProblemCodes.filter((code) => isOpen[code]);
}

/** Returns whether check problems keep the run from loading; its `reason` describes them. */
export function isHeldByCheck(run: Run): boolean {
  const isLoading = run.stage === 'load' || run.stage === 'replace';
  return run.state === 'failed' && isLoading && (openCheckProblems(run) ?? []).length > 0;
}
