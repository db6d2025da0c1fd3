import { checkProblemCodes, type CheckProblemCode } from '../../wire/contract/import-runs.ts';
import type { Run, RunTotals } from './run.ts';

/** Rejected records of all records, 0 to 1. One record may become several events that are refused. */
export function rejectedShare({ records, rejected }: Pick<RunTotals, 'records' | 'rejected'>): number {
  return records === 0 ? 0 : Math.min(1, rejected / records);
}

/**
 * Why the run's present options let no load begin, or continue where the target has rejected more; null: it was not checked, or by
 * an older version.
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

/** Its check lets no load begin, or continue where the target has rejected more; the reason of the run says why. */
export function isHeldByCheck(run: Run): boolean {
  const isLoading = run.stage === 'load' || run.stage === 'replace';
  return run.state === 'failed' && isLoading && (openCheckProblems(run) ?? []).length > 0;
}
