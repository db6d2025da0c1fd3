import { RunFailedError } from '../../run/leased-run.ts';
import type { CheckResult, SameRecords } from '../../run/results.ts';
import { fieldWords, type AdviceWords } from '../../run/advice-words.ts';
import type { EarlierRuns } from '../../run/same-records.ts';
import { rejectedShare } from '../../run/check-problems.ts';
import { integer } from '../../../base/integer-text.ts';
import type { CheckProblemCode } from '../../../wire/contract/import-runs.ts';
import type { RunOptions, RunTotals } from '../../run/run.ts';

/** What of the options decides whether a load may begin. */
export type LoadConditions = Pick<RunOptions, 'rejectedMax' | 'again' | 'replace' | 'target' | 'scheduled'> &
  Pick<RunTotals, 'replaced'>;

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
  if (problems.length > 0) throw new RunFailedError(problems.map(({ sentence }) => sentence).join(' '));
}

export interface CheckProblem {
  readonly code: CheckProblemCode;
  readonly sentence: string;
  /** The earlier run of the same records that it speaks of. */
  readonly run?: string;
}

/** Why the events must not be loaded; none: they may. */
export function findProblems(
  { totals, same_records: same = [] }: Pick<CheckResult, 'totals' | 'same_records'>,
  conditions: LoadConditions,
  words: AdviceWords = fieldWords,
): CheckProblem[] {
  const isEmpty = totals.events - (totals.rejected_events ?? 0) === 0;
  // Nothing that is rejected, and nothing new: so it is with most runs of a source that rests.
  if (isEmpty && conditions.scheduled === true && totals.rejected === 0) return [];
  if (isEmpty) return [{ code: 'no_events', sentence: noEvents(totals, words) }];
  const share = rejectedShare(totals);
  const { rejectedMax } = conditions;
  const beside = storedBeside(same, conditions);
  const problem = (code: CheckProblemCode) => (sentence: string) => ({ code, sentence });
  const tooMany = share > rejectedMax ? [tooManyRejected(totals, { share, rejectedMax }, words)] : [];
  return [
    ...tooMany.map(problem('too_many_rejected')),
    ...unclearReplace(same, conditions, words).map(problem('unclear_replace')),
    ...(beside === undefined
      ? []
      : [{ code: 'stored_before', sentence: storedAgain(beside, conditions.target, words), run: beside.run } as const]),
  ];
}

/** Runs that are to be replaced, by what was said and what the check found. */
export function runsToReplace({ replace, replaced }: LoadConditions, same: readonly SameRecords[]): readonly string[] {
  if (replaced !== undefined) return Object.keys(replaced);
  return replace === true ? same.map(({ run }) => run) : (replace ?? []);
}

function storedBeside(same: readonly SameRecords[], conditions: LoadConditions): SameRecords | undefined {
  if (conditions.again === true) return undefined;
  const replaced = runsToReplace(conditions, same);
  return same.find(({ run, again }) => again > 0 && !replaced.includes(run));
}

/** Which run is meant has to be clear before it is taken back. */
function unclearReplace(
  same: readonly SameRecords[],
  { replace, replaced }: LoadConditions,
  words: AdviceWords,
): readonly string[] {
  if (replace === undefined || replaced !== undefined) return [];
  const removed = same.find(({ run, removed: isRemoved }) => isRemoved && (replace === true || replace.includes(run)));
  if (removed !== undefined) return [`${removedSentence(removed)} To load these beside them, ${words.again}.`];
  if (replace !== true || same.length === 1) return [];
  if (same.length === 0) {
    const how = words.replace === undefined ? '' : ` If you know the run, ${words.replace(['ID of the run'])}.`;
    return [`No earlier run made other events of these records, so it is not clear what to replace.${how}`];
  }
  const ids = same.map(({ run }) => run);
  const how = words.replace === undefined ? '' : ` To replace all of them, ${words.replace(ids)}.`;
  return [
    `${same.length} earlier runs made other events of these records (${ids.join(', ')}): say which to replace.${how}`,
  ];
}

/** What an earlier run made of the same records, with the numbers. */
export function sameRecordsSentence({ run, created_at: at, records, loaded, again, removed }: SameRecords): string {
  const made =
    `Run ${run} of ${at.slice(0, 16).replace('T', ' ')} UTC has ${integer(records)} of the same records and loaded ${integer(loaded)} events, made of ` +
    'them with other names, options, choices or code';
  return again === 0
    ? `${made}; the ids are the same, so what it loaded stays as it is, and this run does not change it.`
    : `${made}; ${removed ? 'up to ' : ''}${integer(again)} events of this run would be stored beside them.`;
}

function removedSentence({ run, loaded }: SameRecords): string {
  return `Run ${run} is removed, as old runs of schedules are: the ${integer(loaded)} events that it loaded cannot be taken back.`;
}

function storedAgain(same: SameRecords, target: RunOptions['target'], words: AdviceWords): string {
  return `${sameRecordsSentence(same)} ${takeBack(same, target, words)}To load these beside them, ${words.again}.`;
}

/** Empty where the earlier run cannot be taken back. */
function takeBack({ run, removed, undoable }: SameRecords, { kind }: RunOptions['target'], words: AdviceWords): string {
  if (removed === true || !(undoable ?? kind === 'project')) return '';
  if (words.replace === undefined)
    return `To load these in their place, give ${words.undo(run)}, then ${words.resume}. `;
  return `To take back that one and load these in its place, ${words.replace([run])}; ${words.undo(run)} only takes it back. `;
}

function noEvents({ records, rejected, skipped }: RunTotals, words: AdviceWords): string {
  const left = Object.entries(skipped).map(([reason, count]) => `, ${integer(count)} skipped on purpose (${reason})`);
  const found =
    records === 0
      ? 'no records at all'
      : `${integer(records)} records, ${integer(rejected)} of them rejected${left.slice(0, 3).join('')}, and no event that can be stored`;
  return (
    `The check expected at least one event to load, and found ${found}. ` +
    `See whether ${words.range}, the format and ${words.formatOptions} fit the source, then ${words.startAgain}.`
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
  const what = rejected > records ? 'events of' : 'of';
  return (
    `${integer(rejected)} ${what} ${integer(records)} records were rejected by the check (${percent(share)}); ${words.rejectedMax} allows ` +
    `${percent(rejectedMax)}. Read the rejected records: their reasons say what is wrong. Then correct ${words.formatOptions} ` +
    `or ${words.names} and ${words.startCorrected}, or ${words.leaveOut(enough)} to leave them out.`
  );
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(3))} %`;
}
