import { RunFailedError } from '../../run/leased-run.ts';
import type { CheckResult } from '../../run/results.ts';
import type { SameRecords } from '../../../wire/contract/import-results.ts';
import { fieldWords, type AdviceWords } from '../../run/advice-words.ts';
import type { EarlierRuns } from '../../run/same-records.ts';
import { rejectedShare } from '../../run/check-problems.ts';
import { counted, integer } from '../../../base/integer-text.ts';
import type { CheckProblemCode } from '../../../wire/contract/import-runs.ts';
import type { RunOptions, RunTotals } from '../../run/run.ts';

/** Options that decide whether a load may begin. */
export type LoadConditions = Pick<RunOptions, 'rejectedMax' | 'again' | 'replace' | 'target' | 'scheduled'> &
  Pick<RunTotals, 'replaced'>;

/**
 * Throws RunFailedError with the next step unless the load may begin. Evaluates the figures again, so that a run resumed with a
 * higher `rejectedMax`, or after an earlier run of the same records was undone, passes.
 */
export async function assertCheckPassed(
  result: CheckResult,
  options: LoadConditions,
  { undone, words }: { readonly undone: EarlierRuns['undone']; readonly words?: AdviceWords | undefined },
): Promise<void> {
  const { totals, same_records: same = [] } = result;
  const undoneRuns = await undone(same.map(({ run }) => run));
  const remaining = same.filter(({ run }) => !undoneRuns.has(run));
  const problems = findProblems({ totals, same_records: remaining }, options, words);
  if (problems.length > 0) throw new RunFailedError(problems.map(({ sentence }) => sentence).join(' '));
}

export interface CheckProblem {
  readonly code: CheckProblemCode;
  readonly sentence: string;
  /** The earlier run of the same records that it is about. */
  readonly run?: string;
}

/** Returns the reasons why the events must not be loaded; empty if they may. */
export function findProblems(
  { totals, same_records: same = [] }: Pick<CheckResult, 'totals' | 'same_records'>,
  conditions: LoadConditions,
  words: AdviceWords = fieldWords,
): CheckProblem[] {
  const isEmpty = totals.events - (totals.rejected_events ?? 0) === 0;
  // Nothing rejected and nothing new is normal for a scheduled run.
  if (isEmpty && conditions.scheduled === true && totals.rejected === 0) return [];
  if (isEmpty) return [{ code: 'no_events', sentence: noEvents(totals, words) }];
  const share = rejectedShare(totals);
  const { rejectedMax } = conditions;
  const storedBefore = findStoredBefore(same, conditions);
  const problem = (code: CheckProblemCode) => (sentence: string) => ({ code, sentence });
  const tooMany = share > rejectedMax ? [tooManyRejected(totals, { share, rejectedMax }, words)] : [];
  return [
    ...tooMany.map(problem('too_many_rejected')),
    ...unclearReplace(same, conditions, words).map(problem('unclear_replace')),
    ...(storedBefore === undefined
      ? []
      : [
          {
            code: 'stored_before',
            sentence: storedBeforeSentence(storedBefore, conditions.target, words),
            run: storedBefore.run,
          } as const,
        ]),
  ];
}

/** Returns the runs to replace, from the options and the findings of the check. */
export function runsToReplace({ replace, replaced }: LoadConditions, same: readonly SameRecords[]): readonly string[] {
  if (replaced !== undefined) return Object.keys(replaced);
  return replace === true ? same.map(({ run }) => run) : (replace ?? []);
}

function findStoredBefore(same: readonly SameRecords[], conditions: LoadConditions): SameRecords | undefined {
  if (conditions.again === true) return undefined;
  const replaced = runsToReplace(conditions, same);
  return same.find(({ run, again }) => again > 0 && !replaced.includes(run));
}

/** The run to replace must be clear before it is undone. */
function unclearReplace(
  same: readonly SameRecords[],
  { replace, replaced }: LoadConditions,
  words: AdviceWords,
): readonly string[] {
  if (replace === undefined || replaced !== undefined) return [];
  const removed = same.find(({ run, removed: isRemoved }) => isRemoved && (replace === true || replace.includes(run)));
  if (removed !== undefined) return [`${removedSentence(removed)} To load these in addition, ${words.again}.`];
  if (replace !== true || same.length === 1) return [];
  if (same.length === 0) {
    const how = words.replace === undefined ? '' : ` If you know the run, ${words.replace(['ID of the run'])}.`;
    return [`No earlier run converted these records differently, so there is nothing to replace.${how}`];
  }
  const ids = same.map(({ run }) => run);
  const how = words.replace === undefined ? '' : ` To replace all of them, ${words.replace(ids)}.`;
  return [
    `${same.length} earlier runs converted these records differently (${ids.join(', ')}): name the one to replace.${how}`,
  ];
}

/** Describes how an earlier run converted the same records, with numbers. */
export function sameRecordsSentence({ run, created_at: at, records, loaded, again, removed }: SameRecords): string {
  const earlier =
    `Run ${run} of ${at.slice(0, 16).replace('T', ' ')} UTC read ${integer(records)} of the same records and loaded ${counted(loaded, 'event')}, ` +
    'converted with other names, options, choices or code';
  return again === 0
    ? `${earlier}; the ids are the same, so the events it loaded stay unchanged.`
    : `${earlier}; ${removed ? 'up to ' : ''}${counted(again, 'event')} of this run would be stored in addition to them.`;
}

function removedSentence({ run, loaded }: SameRecords): string {
  return `Run ${run} has been removed, like all old scheduled runs: the ${counted(loaded, 'event')} it loaded cannot be undone.`;
}

function storedBeforeSentence(same: SameRecords, target: RunOptions['target'], words: AdviceWords): string {
  return `${sameRecordsSentence(same)} ${undoAdvice(same, target, words)}To load these in addition, ${words.again}.`;
}

/** Empty if the earlier run cannot be undone. */
function undoAdvice(
  { run, removed, undoable }: SameRecords,
  { kind }: RunOptions['target'],
  words: AdviceWords,
): string {
  if (removed === true || !(undoable ?? kind === 'project')) return '';
  if (words.replace === undefined) return `To replace them with these, run ${words.undo(run)}, then ${words.resume}. `;
  return `To undo that run and load these instead, ${words.replace([run])}; ${words.undo(run)} only undoes it. `;
}

function noEvents({ records, rejected, skipped }: RunTotals, words: AdviceWords): string {
  const reasons = Object.entries(skipped).map(([reason, count]) => `, ${integer(count)} skipped (${reason})`);
  const found =
    records === 0
      ? 'no records at all'
      : `${counted(records, 'record')}, ${integer(rejected)} of them rejected${reasons.slice(0, 3).join('')}, and no event that can be stored`;
  return (
    `The check expected at least one event to load, but found ${found}. ` +
    `Check that ${words.range}, the format and ${words.formatOptions} fit the source, then ${words.startAgain}.`
  );
}

function tooManyRejected(
  { records, rejected }: RunTotals,
  { share, rejectedMax }: { readonly share: number; readonly rejectedMax: number },
  words: AdviceWords,
): string {
  // Rounded up so that the suggested share is sufficient.
  const enough = Math.min(1, Math.ceil(share * 10_000) / 10_000);
  // A record may become several events.
  const what = rejected > records ? `${counted(rejected, 'event')} of` : `${integer(rejected)} of`;
  return (
    `The check rejected ${what} ${counted(records, 'record')} (${percent(share)}); ${words.rejectedMax} allows ` +
    `${percent(rejectedMax)}. See the reasons of the rejected records. Then correct ${words.formatOptions} ` +
    `or ${words.names} and ${words.startCorrected}, or ${words.skipRejected(enough)} to load the rest without them.`
  );
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(3))} %`;
}
