import { RunFailedError } from '../../run/leased-run.ts';
import type { CheckResult, SameRecords } from '../../run/results.ts';
import { fieldWords, type AdviceWords } from '../../run/advice-words.ts';
import type { EarlierRuns } from '../../run/same-records.ts';
import type { RunOptions, RunTotals } from '../../run/run.ts';

/** What of the options decides whether a load may begin. */
export type LoadConditions = Pick<RunOptions, 'rejectedMax' | 'again' | 'target'>;

/**
 * Lets the load begin, or throws RunFailedError with a sentence that says how to go on. Judges the figures anew: a run
 * that is resumed with a higher `rejectedMax`, or after an earlier run of the same records was undone, passes with it.
 */
export async function assertCheckPassed(
  result: CheckResult,
  options: LoadConditions,
  { undone, words }: { readonly undone: EarlierRuns['undone']; readonly words?: AdviceWords | undefined },
): Promise<void> {
  const { totals, same_records: same = [] } = result;
  const gone = await undone(same.map(({ run }) => run));
  const problems = findProblems({ totals, same_records: same.filter(({ run }) => !gone.has(run)) }, options, words);
  if (problems.length > 0) throw new RunFailedError(problems.join(' '));
}

/** Why the events must not be loaded; none: they may. */
export function findProblems(
  { totals, same_records: same = [] }: Pick<CheckResult, 'totals' | 'same_records'>,
  { rejectedMax, again = false, target }: LoadConditions,
  words: AdviceWords = fieldWords,
): string[] {
  if (totals.events - (totals.rejected_events ?? 0) === 0) return [noEvents(totals, words)];
  const share = rejectedShare(totals);
  const beside = again ? undefined : same.find((each) => each.again > 0);
  return [
    ...(share > rejectedMax ? [tooManyRejected(totals, { share, rejectedMax }, words)] : []),
    ...(beside === undefined ? [] : [storedAgain(beside, target)]),
  ];
}

/** What an earlier run made of the same records, with the numbers. */
export function sameRecordsSentence({ run, created_at: at, records, loaded, again }: SameRecords): string {
  const made =
    `Run ${run} of ${at.slice(0, 16).replace('T', ' ')} UTC has ${records} of the same records and loaded ${loaded} events, made of ` +
    'them with other names, options, choices or code';
  return again === 0
    ? `${made}; the ids are the same, so what it loaded stays as it is, and this run does not change it.`
    : `${made}; ${again} events of this run would be stored beside them.`;
}

function storedAgain(same: SameRecords, { kind }: RunOptions['target']): string {
  const undo = `Undo that run first (millrace import undo --run ${same.run}, or POST …/runs/${same.run}/undo/). `;
  return (
    `${sameRecordsSentence(same)} ${kind === 'project' ? undo : ''}` +
    'To load these all the same: --again on the command line, "again": true in the API.'
  );
}

/** Rejected records of all records, 0 to 1. One record may become several events that are refused. */
export function rejectedShare({ records, rejected }: RunTotals): number {
  return records === 0 ? 0 : Math.min(1, rejected / records);
}

function noEvents({ records, rejected, skipped }: RunTotals, words: AdviceWords): string {
  const left = Object.entries(skipped).map(([reason, count]) => `, ${count} left out on purpose (${reason})`);
  const found =
    records === 0
      ? 'no records at all'
      : `${records} records, ${rejected} of them rejected${left.slice(0, 3).join('')}, and no event that can be stored`;
  return (
    `The check expected at least one event to load, and found ${found}. ` +
    `See whether ${words.range}, the format and ${words.formatOptions} fit the source, then ${words.startAnew}.`
  );
}

function tooManyRejected(
  { records, rejected }: RunTotals,
  { share, rejectedMax }: { readonly share: number; readonly rejectedMax: number },
  words: AdviceWords,
): string {
  // Rounded up, so that the number given is enough.
  const enough = Math.min(1, Math.ceil(share * 10_000) / 10_000);
  // A record may become several events.
  const what = rejected > records ? `${rejected} events of ${records} records` : `${rejected} of ${records} records`;
  return (
    `${what} were rejected by the check (${percent(share)}); ${words.rejectedMax} allows ` +
    `${percent(rejectedMax)}. Read the rejected records: their reasons say what is wrong. Then correct ${words.formatOptions} ` +
    `or ${words.names} and ${words.startCorrected}, or ${words.leaveOut(enough)} to leave them out.`
  );
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(3))} %`;
}
