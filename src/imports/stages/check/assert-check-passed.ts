import { RunFailedError } from '../../run/leased-run.ts';
import type { CheckResult } from '../../run/results.ts';
import type { RunOptions, RunTotals } from '../../run/run.ts';

/**
 * Lets the load begin, or throws RunFailedError with a sentence that says how to go on. Judges the figures anew: a run
 * that is resumed with a higher `rejectedMax` passes with the same result.
 */
export function assertCheckPassed(result: CheckResult, options: Pick<RunOptions, 'rejectedMax'>): void {
  const problems = findProblems(result.totals, options.rejectedMax);
  if (problems.length > 0) throw new RunFailedError(problems.join(' '));
}

/** Why the events must not be loaded; none: they may. */
export function findProblems(totals: RunTotals, rejectedMax: number): string[] {
  if (totals.events - (totals.rejected_events ?? 0) === 0) return [noEvents(totals)];
  const share = rejectedShare(totals);
  return share > rejectedMax ? [tooManyRejected(totals, share, rejectedMax)] : [];
}

/** Rejected records of all records, 0 to 1. One record may become several events that are refused. */
export function rejectedShare({ records, rejected }: RunTotals): number {
  return records === 0 ? 0 : Math.min(1, rejected / records);
}

function noEvents({ records, rejected }: RunTotals): string {
  const found =
    records === 0
      ? 'no records at all'
      : `${records} records, ${rejected} of them rejected, and no event that can be stored`;
  return (
    `The check expected at least one event to load, and found ${found}. ` +
    'See whether range, format and format options fit the source, then start a new run.'
  );
}

function tooManyRejected({ records, rejected }: RunTotals, share: number, rejectedMax: number): string {
  // Rounded up, so that the number given is enough.
  const enough = Math.min(1, Math.ceil(share * 10_000) / 10_000);
  // A record may become several events.
  const what = rejected > records ? `${rejected} events of ${records} records` : `${rejected} of ${records} records`;
  return (
    `${what} were rejected by the check (${percent(share)}); rejected_max allows ` +
    `${percent(rejectedMax)}. Read the errors in the check's result and correct the format's options or names ` +
    `in a new run (after a run that only checks: retry_rejected), ` +
    `or resume this one with rejected_max ${enough} to leave them out.`
  );
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(3))} %`;
}
