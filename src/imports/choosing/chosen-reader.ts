import type { WireEvent } from '../../wire/contract/wire-event.ts';
import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import type { Chosen, RecordReader, RecordResult, RecordTimes, FoundValue } from '../formats/format.ts';
import { createReaderMemory, noMemory, type ReaderMemory } from '../formats/reader-memory.ts';
import type { JoinTable } from './join-table.ts';
import { unusualValueRules, createRejection, timeRepair, ruledEvent } from './unusual-values.ts';
import { deviceOnly, devicesIn, neverMerge } from './identity-policy.ts';
import { changesOf, filtersOf, linkFilterOf } from './order.ts';
import { isLink, type Change } from './step.ts';

export interface ChosenReaderOptions {
  /** Those of the choice's joins, in their order. */
  readonly tables?: readonly JoinTable[];
  /** Of the format. */
  readonly times?: RecordTimes | undefined;
  /** Times after this lie in the future; ms since the epoch. */
  readonly now: number;
  /** Of the reader; default: one of its own. */
  readonly memory?: ReaderMemory;
}

/**
 * The reader of a format with a choice applied; without one it is the format's own. Throws FormatOptionsError for a rule that the
 * format's records have nothing for.
 */
export function createChosenReader(
  create: (memory: ReaderMemory) => RecordReader,
  choice: ImportChoice | undefined,
  { tables = [], times, now, memory = createReaderMemory() }: ChosenReaderOptions,
): RecordReader {
  const own = create(memory);
  if (choice === undefined) return own;
  const repair = timeRepair(choice, times, now);
  const judge = createJudge(choice, { tables, now });
  const chosen = judge === undefined ? own : withJudge(own, create, judge, { choice, now, memory });
  if (repair === undefined) return chosen;
  return (given) => {
    const repaired = repair(given);
    if (repaired === undefined) return chosen(given);
    const result = chosen(repaired.record);
    return withUnusual(result, [...(result.unusual ?? []), { of: 'odd_times', value: repaired.was }]);
  };
}

/**
 * The reader that makes the events sees only records of which something is taken: it says once that a device belongs to a user,
 * and has to say it at an event that is there. A second one, which remembers nothing, says of each record what that says itself, so
 * that what is taken does not depend on the records before.
 */
function withJudge(
  read: RecordReader,
  create: (memory: ReaderMemory) => RecordReader,
  judge: Judge,
  {
    choice,
    now,
    memory,
  }: Pick<ChosenReaderOptions, 'now'> & {
    readonly choice: ImportChoice;
    readonly memory: ReaderMemory;
  },
): RecordReader {
  const look = judge.leavesOut ? create(noMemory) : undefined;
  const rejection = createRejection(unusualValueRules(choice, now));
  const take = (result: RecordResult, said: readonly WireEvent[]): RecordResult => {
    if (result.kind !== 'events' || result.events.length === 0) return result;
    const { events, leftOut } = judge.take(result.events, said);
    const counted = leftOut.filter(({ event, reason }) => isCounted(event, reason));
    return { ...result, events, chosen: chosenOf(events, counted) };
  };
  // A link beside other events is left out in every piece of the run in which it is made, and counts once.
  const isCounted = ({ uuid }: WireEvent, reason: string): boolean =>
    !memory.links.has(uuid) || memory.leaveOut(uuid, reason);
  if (look === undefined) return (record) => take(read(record), []);
  return (record) => {
    const seen = look(record);
    if (seen.kind !== 'events' || seen.events.length === 0) return seen;
    const rejected = rejection?.(seen.events);
    if (rejected !== undefined) return rejected;
    const { events, leftOut, unusual } = judge.look(seen.events);
    const result = events.length > 0 ? take(read(record), seen.events) : nothingOf(leftOut, seen);
    return unusual.length === 0 ? result : withUnusual(result, unusual);
  };
}

/** A record of which nothing stays is left out for the reason of its first event. */
function nothingOf(leftOut: Judged['leftOut'], { notes }: RecordResult): RecordResult {
  const chosen = chosenOf([], leftOut);
  return { kind: 'skipped', reason: leftOut[0]?.reason ?? '', chosen, ...(notes && { notes }) };
}

function chosenOf({ length }: Judged['events'], leftOut: Judged['leftOut']): Chosen {
  return { read: length + leftOut.length, leftOut: leftOut.map(({ reason }) => reason) };
}

function withUnusual(result: RecordResult, unusual: NonNullable<RecordResult['unusual']>): RecordResult {
  return { ...result, unusual };
}

/** What a choice makes of the events of one record, which it judges without looking at any other. */
interface Judge {
  /** Whether there is anything that it may leave out: then all that a record says has to be looked at first. */
  readonly leavesOut: boolean;
  /** What stays of the events that a record says itself. `said`: all that it says. */
  look(said: readonly WireEvent[]): Judged & { readonly unusual: readonly FoundValue[] };
  /** What stays of the events that a reader makes of a record of which something stays. */
  take(events: readonly WireEvent[], said: readonly WireEvent[]): Judged;
}

interface Judged {
  readonly events: readonly WireEvent[];
  readonly leftOut: readonly { readonly event: WireEvent; readonly reason: string }[];
}

type Devices = ReadonlyMap<string, string> | undefined;
type JudgeOne = (event: WireEvent, isOwn: boolean) => WireEvent | string;

/** Undefined: the choice is about nothing in events. */
function createJudge(
  choice: ImportChoice,
  { tables, now }: { readonly tables: readonly JoinTable[]; readonly now: number },
): Judge | undefined {
  const rules = unusualValueRules(choice, now);
  const filters = filtersOf(choice);
  const linkFilter = [linkFilterOf(choice)];
  const changes = changesOf(choice, tables);
  const isDeviceOnly = choice.identity === 'device_only';
  // Of the changes only these leave something out.
  const leaving = choice.identity === 'never_merge' ? [neverMerge()] : [];
  const leavesOut = rules.length + filters.length + leaving.length > 0 || isDeviceOnly;
  if (!leavesOut && changes.length === 0) return undefined;

  const devicesOf = (said: readonly WireEvent[]): Devices =>
    isDeviceOnly ? devicesIn(said.map((event) => ruledEvent(event, rules, [])).filter(isEvent)) : undefined;
  const judgeBy =
    (applied: readonly Change[], devices: Devices, unusual: FoundValue[]): JudgeOne =>
    (event, isOwn) => {
      const ruled = ruledEvent(event, rules, unusual);
      if (typeof ruled === 'string') return ruled;
      for (const reasonOf of isOwn ? filters : linkFilter) {
        const reason = reasonOf(ruled);
        if (reason !== undefined) return reason;
      }
      let changed = devices === undefined ? ruled : deviceOnly(ruled, devices);
      for (const change of applied) {
        if (typeof changed === 'string') return changed;
        changed = change(changed);
      }
      return changed;
    };
  return {
    leavesOut,
    look: (said) => {
      const unusual: FoundValue[] = [];
      return { ...judgeAll(ownEvents(said), judgeBy(leaving, devicesOf(said), unusual)), unusual };
    },
    take: (events, said) => judgeAll(events, judgeBy(changes, devicesOf(said), [])),
  };
}

function judgeAll(events: readonly WireEvent[], judge: JudgeOne): Judged {
  const own = new Set(ownEvents(events));
  const kept: WireEvent[] = [];
  const leftOut: { readonly event: WireEvent; readonly reason: string }[] = [];
  for (const event of events) {
    const judged = judge(event, own.has(event));
    if (typeof judged === 'string') leftOut.push({ event, reason: judged });
    else kept.push(judged);
  }
  return { events: kept, leftOut };
}

/** What a record says itself. Links beside other events are the reader's; a record of links alone means them. */
function ownEvents(events: readonly WireEvent[]): readonly WireEvent[] {
  const own = events.filter((event) => !isLink(event));
  return own.length === 0 ? events : own;
}

function isEvent(event: WireEvent | string): event is WireEvent {
  return typeof event !== 'string';
}
