import type { JoinTable } from '../../choosing/join-table.ts';
import type { RecordTimes } from '../../formats/format.ts';
import { linkNotListed } from '../../choosing/name-list.ts';
import type { StoredDay } from '../../run/import-day.ts';
import { identityRules } from '../../../wire/contract/import-choice.ts';
import type { CheckFinding, EventSummary, SameRecords } from '../../../wire/contract/import-results.ts';
import type { AdviceWords } from '../../run/advice-words.ts';
import type { CheckResult, LeftOutFile, UnusualFinding, RunToReplace, NoteFinding } from '../../run/results.ts';
import type { RunOptions, RunTotals } from '../../run/run.ts';
import { findProblems, sameRecordsSentence, type CheckProblem, type LoadConditions } from './assert-check-passed.ts';
import { isoOfMicros } from '../../../base/clock.ts';
import { mostOf, type Sum } from './tally/findings.ts';
import { counted, integer, plural } from '../../../base/integer-text.ts';
import { possibleRules, unusualFindings } from './tally/unusual-findings.ts';
import type { SharedDevices } from './tally/shared-devices.ts';
import { planFindings } from './plan/plan-findings.ts';
import type { PlanText } from '../../run/tracking-plan-of.ts';
import { addNoteCounts, createNoteSum, noteCountsOf, noteFindings } from './tally/note-tally.ts';

export interface Checked {
  readonly sum: Sum;
  readonly days: readonly StoredDay[];
  readonly devices: SharedDevices;
  /** Pieces of the source that could not be staged as records; `sum` already contains their groups. */
  readonly faults: number;
  /** Events that also exist on another day. */
  readonly repeated: number;
  /** Duplicates whose properties or time differ from those of the loaded event. */
  readonly changed: number;
  readonly options: LoadConditions & Pick<RunOptions, 'choice' | 'format' | 'formatOptions'>;
  /** Tables of the joins, in their order. */
  readonly tables: readonly Omit<JoinTable, 'rows'>[];
  readonly words: AdviceWords;
  /** Time fields of the format. */
  readonly times: RecordTimes | undefined;
  readonly sameRecords: readonly SameRecords[];
  /** Runs that are undone before this one loads. */
  readonly replaces: readonly RunToReplace[];
  /** Runs that this one replaces and that were undone before this check. */
  readonly afterReplacing: readonly string[] | undefined;
  readonly leftOut: readonly LeftOutFile[];
  /** The tracking plan that events were validated against. */
  readonly plan?: PlanText | undefined;
  /** `undefined` if the target cannot be queried. */
  readonly knownEvents: ReadonlySet<string> | undefined;
}

const busiestShown = 20;
const sharedShown = 100;
/** Share of events above which a distinct_id is reported, and the minimum number of events for that. */
const busyShare = 0.5;
const busyEventsMin = 100;

export function checkResult(checked: Checked): CheckResult {
  const { sum, days, devices } = checked;
  const totals = totalsOf(checked);
  const same = checked.sameRecords;
  const problems = findProblems({ totals, same_records: same }, checked.options, checked.words);
  const { first, last } = timesOf(sum);
  const warnings = warningsOf(checked, problems);
  return {
    verdict: problems.length === 0 ? 'passed' : 'failed',
    problems: problems.map(({ sentence }) => sentence),
    problem_codes: problems.map(({ code }) => code),
    warnings: warnings.map(({ sentence }) => sentence),
    findings: warnings.map(({ finding }) => finding),
    totals,
    first_time: first,
    last_time: last,
    days: Object.fromEntries(days.map((day) => [day.day, Object.fromEntries(expectedOf(day))])),
    events: summaries(sum, days, checked.knownEvents),
    errors: sum.errors.list(),
    duplicates: totals.duplicates,
    changed_duplicates: checked.changed,
    unmapped: {
      events: Object.fromEntries(mostOf(sum.unmappedEvents, sum.unmappedEvents.size)),
      properties: Object.fromEntries(mostOf(sum.unmappedProperties, sum.unmappedProperties.size)),
    },
    identity: {
      distinct_ids: sum.ids.estimate,
      ...(!sum.ids.isExact && { is_estimated: true }),
      identifies: sum.counts.identifies,
      group_identifies: sum.counts.groupIdentifies,
      ids_of_several_persons: devices.shared.slice(0, sharedShown),
      busiest: mostOf(sum.busiest, busiestShown).map(([id, events]) => ({ id, events })),
    },
    samples: sum.samples,
    ...(checked.leftOut.length > 0 && { files_left_out: checked.leftOut }),
    odd_values: unusualOf(checked),
    notes: resultNotes(checked),
    same_records: same,
    ...(checked.replaces.length > 0 && { replaces: checked.replaces }),
    ...(checked.afterReplacing && { after_replacing: checked.afterReplacing }),
  };
}

function unusualOf({ sum, options, words, times }: Checked): readonly UnusualFinding[] {
  return unusualFindings(sum.unusual, options.choice, { words, times });
}

function totalsOf({ sum, days, faults, leftOut }: Checked): RunTotals {
  const { records, unreadable, refused, events, converted } = sum.counts;
  const foreign = leftOut.reduce((all, file) => all + (file.records ?? 0), 0);
  const skipped = [...sum.skipped, ...(foreign > 0 ? [[inForeignFile, foreign] as const] : [])];
  return {
    records: records + faults + foreign,
    skipped: Object.fromEntries(mostOf(skipped, skipped.length)),
    rejected: faults + unreadable + refused,
    converted,
    rejected_events: refused,
    events: events + refused,
    duplicates: days.reduce((all, day) => all + day.duplicates, 0),
    loaded: 0,
    ...(sum.choice.read > 0 && {
      events_read: sum.choice.read,
      left_out: Object.fromEntries(mostOf(sum.choice.leftOut, sum.choice.leftOut.size)),
    }),
  };
}

function timesOf({ byName }: Sum): { first: string | null; last: string | null } {
  let first = Infinity;
  let last = -Infinity;
  for (const each of byName.values()) {
    first = Math.min(first, each.first);
    last = Math.max(last, each.last);
  }
  return byName.size === 0 ? { first: null, last: null } : { first: isoOfMicros(first), last: isoOfMicros(last) };
}

/** Summarizes events with the counts that will be loaded; most frequent first. */
function summaries(
  { byName }: Sum,
  days: readonly StoredDay[],
  known: ReadonlySet<string> | undefined,
): EventSummary[] {
  const counts = new Map<string, number>();
  for (const day of days)
    for (const [name, count] of expectedOf(day)) counts.set(name, (counts.get(name) ?? 0) + count);
  return mostOf(counts, counts.size).map(([event, count]) => {
    const times = byName.get(event);
    const summary = {
      event,
      count,
      first_time: isoOfMicros(times?.first ?? 0),
      last_time: isoOfMicros(times?.last ?? 0),
    };
    return known === undefined ? summary : Object.assign(summary, { is_new: !known.has(event) });
  });
}

/** A finding, and the sentence of the warning, which may also explain how to choose another rule. */
interface Warning {
  readonly finding: CheckFinding;
  readonly sentence: string;
}

/** Omits what a problem already reports. */
function warningsOf(checked: Checked, problems: readonly CheckProblem[]): readonly Warning[] {
  const { sum, repeated, changed, devices, leftOut, options } = checked;
  const { events, inFuture } = sum.counts;
  const [busiest] = mostOf(sum.busiest, 1);
  const names = [...sum.unmappedEvents, ...sum.unmappedProperties].toSorted((one, two) => two[1] - one[1]);
  const unmapped = names.map(([name]) => name);
  const links = sum.choice.leftOut.get(linkNotListed) ?? 0;
  const standsOut = busiest !== undefined && events >= busyEventsMin && busiest[1] > events * busyShare;
  const found: readonly Found[] = [
    ...resultNotes(checked).map(({ of, count, samples, detail }) => note(of, count, detail, samples)),
    repeated > 0 && note('repeated_on_several_days', repeated, repeatedSentence(repeated)),
    changed > 0 && note('changed_duplicates', changed, changedSentence(changed)),
    leftOut.length > 0 && note('files_not_imported', leftOut.length, leftOutSentence(leftOut), filesOf(leftOut)),
    inFuture > 0 &&
      note(
        'near_future',
        inFuture,
        `${counted(inFuture, 'event')} ${plural(inFuture, 'is', 'are')} less than a day in the future; check the time zone.`,
      ),
    ...planFindings(sum.plan.list(), checked.plan?.version).map((each) =>
      note('tracking_plan', each.count, each.detail, each.samples),
    ),
    ...unusualWarnings(checked),
    standsOut && note('busiest_id', busiest[1], busySentence(busiest, events), [busiest[0]]),
    devices.shared.length > 0 && sharedWarning(devices, options.choice?.identity),
    unmapped.length > 0 && note('untranslated_names', unmapped.length, unmappedSentence(unmapped), unmapped),
    ...remaining(checked, problems).map((same) => note('same_records', same.records, sameRecordsSentence(same))),
    ...checked.replaces.map((each) => note('replaced_run', each.plan.events, replaceSentence(each), [each.run])),
    ...joinSentences(checked).map(([holds, sentence]) => holds && note('join', null, sentence())),
    links > 0 && note('removed_links', links, linksSentence(links)),
  ];
  // A table may be joined twice.
  return [...new Map(found.filter((each) => each !== false).map((each) => [each.sentence, each])).values()];
}

type Found = Warning | false;

const samplesMax = 5;

function note(
  code: string,
  count: number | null,
  detail: string,
  samples: readonly string[] = [],
  rules: Pick<CheckFinding, 'rule' | 'rules'> = {},
): Warning {
  const shown = samples.slice(0, samplesMax).map((each) => each.slice(0, 200));
  return { finding: { code, count, samples: shown, detail, ...rules }, sentence: detail };
}

function unusualWarnings(checked: Checked): readonly Warning[] {
  return unusualOf(checked).map(({ of, rule, count, samples, outcome, detail }) => {
    const { finding } = note(of, count, outcome ?? detail, samples, { rule, rules: possibleRules(of, checked.times) });
    return { finding, sentence: detail };
  });
}

function sharedWarning(devices: SharedDevices, policy: keyof typeof sharedOutcomes = 'first_user'): Warning {
  const ids = devices.shared.map(({ id }) => id);
  const rules = { rule: policy, rules: identityRules };
  return note('identity', devices.shared.length, sharedSentence(devices, policy), ids, rules);
}

function filesOf(files: readonly LeftOutFile[]): readonly string[] {
  return files.map(({ file }) => file);
}

/** Returns earlier runs that stay and that no problem mentions. */
function remaining({ sameRecords, replaces }: Checked, problems: readonly CheckProblem[]): readonly SameRecords[] {
  const mentioned = new Set([...replaces, ...problems].map(({ run }) => run));
  return sameRecords.filter(({ run }) => !mentioned.has(run));
}

function replaceSentence({ run, plan }: RunToReplace): string {
  return (
    `Run ${run} is undone before this one loads: ${counted(plan.events, 'event')} of ${counted(plan.distinct_ids, 'id')}.` +
    plan.exceptions.map((sentence) => ` ${sentence}`).join('')
  );
}

/** Reason for skipping the records of a file that was not staged. */
const inForeignFile = 'in a file without records of this format';
const filesShown = 5;

function leftOutSentence(files: readonly LeftOutFile[]): string {
  const shown = files.slice(0, filesShown).map(({ file, reason, records = 0 }) => {
    return `${file} – ${reason}${records === 0 ? '' : ` (${counted(records, 'object')}, counted as skipped)`}`;
  });
  const more = files.length > filesShown ? `, and ${files.length - filesShown} more` : '';
  return `Files not imported: ${shown.join(', ')}${more}.`;
}

function repeatedSentence(count: number): string {
  return (
    `About ${counted(count, 'event')} ${plural(count, 'occurs', 'occur')} on several days with the same uuid, name and distinct_id; ` +
    'all occurrences will be stored.'
  );
}

function changedSentence(count: number): string {
  const [are, their] = count === 1 ? ['is', 'its'] : ['are', 'their'];
  return (
    `${counted(count, 'duplicate event')} ${are} not identical to the first event with ${their} uuid, name and distinct_id: properties or times ` +
    'differ. The earliest one is loaded.'
  );
}

const sharedOutcomes = {
  first_user: 'each stays with its first user, and later users stay separate persons.',
  merge: 'users of such a device become one person, unless they are already identified.',
  never_merge: 'they stay separate, like all ids.',
  device_only: 'events belong to the device, regardless of its user.',
} as const;

function sharedSentence(
  { shared, isIncomplete }: SharedDevices,
  policy: keyof typeof sharedOutcomes = 'first_user',
): string {
  const [most] = shared;
  const example =
    most === undefined ? '' : ` (${JSON.stringify(most.id.slice(0, 60))} has ${integer(most.persons)} users)`;
  const devices = counted(shared.length, 'device has', 'devices have');
  const count = `${isIncomplete ? 'At least ' : ''}${devices} more than one user${example}`;
  return `${count}: ${sharedOutcomes[policy]}`;
}

const namesShown = 5;

function unmappedSentence(names: readonly string[]): string {
  const more = names.length > namesShown ? `, and ${integer(names.length - namesShown)} more` : '';
  const shown = names.slice(0, namesShown).map((name) => JSON.stringify(name.slice(0, 60)));
  return (
    `${counted(names.length, 'name that looks', 'names that look')} specific to the source ${plural(names.length, 'is', 'are')} not ` +
    `translated (${shown.join(', ')}${more}); add those with a counterpart to the table of names.`
  );
}

type Sentence = readonly [holds: boolean, sentence: () => string];

function joinSentences({ options, tables }: Checked): readonly Sentence[] {
  return (options.choice?.join ?? []).flatMap(({ table, on }, index): readonly Sentence[] => {
    const { isMatched = true, repeated = 0, column = on } = tables[index] ?? {};
    return [
      [
        !isMatched,
        () =>
          `No event matches a row of ${table}: no "${on}" occurs in the column "${column}"; check that these are the right ones.`,
      ],
      [
        repeated > 0,
        () =>
          `${counted(repeated, 'row')} of ${table} ${plural(repeated, 'repeats', 'repeat')} the "${column}" of an earlier row; the first of each is used.`,
      ],
    ];
  });
}

function linksSentence(count: number): string {
  return (
    `The list of events does not include ${counted(count, 'link')} between ids ($identify, $create_alias, $groupidentify): ` +
    'the linked ids stay separate persons. Add these names to the list to keep the links.'
  );
}

function busySentence(busiest: readonly [string, number] | undefined, events: number): string {
  const [id, count] = busiest ?? ['', 0];
  return (
    `The distinct_id ${JSON.stringify(id.slice(0, 60))} has at least ${integer(count)} of ${integer(events)} events; ` +
    'such an id is often a default value that merges many users into one person.'
  );
}

/** Returns the events of a day that will be loaded, by name. */
function expectedOf({ expected }: Pick<StoredDay, 'expected'>): [name: string, count: number][] {
  if (expected === '') return [];
  // Written by settleDays.
  const byName = JSON.parse(expected) as Readonly<Record<string, { readonly count: number }>>;
  return Object.entries(byName).map(([name, { count }]) => [name, count]);
}

/** Mixpanel projects created before that day have their own time zone, which the records do not contain. */
const mixpanelUtcFrom = '2023-01-01';

/** Combines the notes of readers with what the days of all records show. */
function resultNotes({
  sum,
  days,
  options,
}: {
  readonly sum: Pick<Sum, 'notes'>;
  readonly days: readonly Pick<StoredDay, 'day' | 'events'>[];
  readonly options: Pick<RunOptions, 'format' | 'formatOptions'>;
}): NoteFinding[] {
  const early = days.filter(({ day, events }) => day < mixpanelUtcFrom && events > 0);
  const isZoneAssumed = options.format === 'mixpanel' && (options.formatOptions['time_zone'] ?? '') === '';
  if (!isZoneAssumed || early.length === 0) return noteFindings(sum.notes);
  const notes = createNoteSum();
  addNoteCounts(notes, noteCountsOf(sum.notes).notes ?? {});
  const count = early.reduce((all, { events }) => all + events, 0);
  const first = early.map(({ day }) => day).toSorted()[0] ?? '';
  addNoteCounts(notes, { mixpanel_zone_assumed: { count, amount: 0, samples: [first] } });
  return noteFindings(notes);
}
