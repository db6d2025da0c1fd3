import type { WireEvent } from '../../wire/contract/wire-event.ts';
import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import type { Chosen, RecordReader, RecordResult, RecordTimes, FoundValue } from '../formats/format.ts';
import { createReaderMemory, noMemory, type ReaderMemory } from '../formats/reader-memory.ts';
import type { JoinTable } from './join-table.ts';
import { unusualValueRules, createRejection, timeRepair, ruledEvent } from './unusual-values.ts';
import { deviceOnly, devicesIn, neverMerge } from './identity-policy.ts';
import { changesOf, filtersOf, linkFilterOf } from './order.ts';
import { isLink, type Change } from './step.ts';

interface ChosenReaderOptions {
  /** Tables of the choice's joins, in the same order. */
  readonly tables?: readonly JoinTable[];
  /** Where records of the format keep their times. */
  readonly times?: RecordTimes | undefined;
  /** Current time, ms since the epoch; later times are in the future. */
  readonly now: number;
  /** Memory of the reader; by default a new one. */
  readonly memory?: ReaderMemory;
}

/**
 * Returns the format's reader with a choice applied; without a choice, the format's own reader. Throws FormatOptionsError for a
 * rule that needs a time which the format's records do not have.
 */
export function createChosenReader(
  create: (memory: ReaderMemory) => RecordReader,
  choice: ImportChoice | undefined,
  { tables = [], times, now, memory = createReaderMemory() }: ChosenReaderOptions,
): RecordReader {
  const own = create(memory);
  if (choice === undefined) return own;
  const repair = timeRepair(choice, times, now);
  const selector = createSelector(choice, { tables, now });
  const chosen = selector === undefined ? own : withSelector(own, create, selector, { choice, now, memory });
  if (repair === undefined) return chosen;
  return (given) => {
    const repaired = repair(given);
    if (repaired === undefined) return chosen(given);
    const result = chosen(repaired.record);
    return withUnusual(result, [...(result.unusual ?? []), { of: 'odd_times', value: repaired.was }]);
  };
}

/**
 * The reader that writes the events receives only records from which at least one event is taken: it links a device to a user
 * once, and that link must come with an event that is imported. A second reader without memory reads every record on its own, so
 * what is taken does not depend on earlier records.
 */
function withSelector(
  read: RecordReader,
  create: (memory: ReaderMemory) => RecordReader,
  selector: Selector,
  {
    choice,
    now,
    memory,
  }: Pick<ChosenReaderOptions, 'now'> & {
    readonly choice: ImportChoice;
    readonly memory: ReaderMemory;
  },
): RecordReader {
  const preread = selector.mayExclude ? create(noMemory) : undefined;
  const rejection = createRejection(unusualValueRules(choice, now));
  const take = (result: RecordResult, alone: readonly WireEvent[]): RecordResult => {
    if (result.kind !== 'events' || result.events.length === 0) return result;
    const { events, leftOut } = selector.take(result.events, alone);
    const counted = leftOut.filter(({ event, reason }) => isCounted(event, reason));
    return { ...result, events, chosen: chosenOf(events, counted) };
  };
  // A link next to other events is excluded in every part of the run that creates it, and counts once.
  const isCounted = ({ uuid }: WireEvent, reason: string): boolean =>
    !memory.links.has(uuid) || memory.exclude(uuid, reason);
  if (preread === undefined) return (record) => take(read(record), []);
  return (record) => {
    const alone = preread(record);
    if (alone.kind !== 'events' || alone.events.length === 0) return alone;
    const rejected = rejection?.(alone.events);
    if (rejected !== undefined) return rejected;
    const { events, leftOut, unusual } = selector.preselect(alone.events);
    const result = events.length > 0 ? take(read(record), alone.events) : nothingOf(leftOut, alone);
    return unusual.length === 0 ? result : withUnusual(result, unusual);
  };
}

/** A record without remaining events is skipped for the reason of its first event. */
function nothingOf(leftOut: Selection['leftOut'], { notes }: RecordResult): RecordResult {
  const chosen = chosenOf([], leftOut);
  return { kind: 'skipped', reason: leftOut[0]?.reason ?? '', chosen, ...(notes && { notes }) };
}

function chosenOf({ length }: Selection['events'], leftOut: Selection['leftOut']): Chosen {
  return { read: length + leftOut.length, leftOut: leftOut.map(({ reason }) => reason) };
}

function withUnusual(result: RecordResult, unusual: NonNullable<RecordResult['unusual']>): RecordResult {
  return { ...result, unusual };
}

/** Applies a choice to the events of one record, independently of other records. */
interface Selector {
  /** Whether the choice may exclude events. If so, each record is first read on its own. */
  readonly mayExclude: boolean;
  /** Selects from `alone`, the events of a record read without memory. */
  preselect(alone: readonly WireEvent[]): Selection & { readonly unusual: readonly FoundValue[] };
  /** Selects from the events that the reader with memory creates from the same record. */
  take(events: readonly WireEvent[], alone: readonly WireEvent[]): Selection;
}

interface Selection {
  readonly events: readonly WireEvent[];
  readonly leftOut: readonly { readonly event: WireEvent; readonly reason: string }[];
}

type Devices = ReadonlyMap<string, string> | undefined;
type SelectOne = (event: WireEvent, isOwn: boolean) => WireEvent | string;

/** Returns `undefined` if the choice does not affect events. */
function createSelector(
  choice: ImportChoice,
  { tables, now }: { readonly tables: readonly JoinTable[]; readonly now: number },
): Selector | undefined {
  const rules = unusualValueRules(choice, now);
  const filters = filtersOf(choice);
  const linkFilter = [linkFilterOf(choice)];
  const changes = changesOf(choice, tables);
  const isDeviceOnly = choice.identity === 'device_only';
  // Only these changes exclude events.
  const excluding = choice.identity === 'never_merge' ? [neverMerge()] : [];
  const mayExclude = rules.length + filters.length + excluding.length > 0 || isDeviceOnly;
  if (!mayExclude && changes.length === 0) return undefined;

  const devicesOf = (alone: readonly WireEvent[]): Devices =>
    isDeviceOnly ? devicesIn(alone.map((event) => ruledEvent(event, rules, [])).filter(isEvent)) : undefined;
  const selectBy =
    (applied: readonly Change[], devices: Devices, unusual: FoundValue[]): SelectOne =>
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
    mayExclude,
    preselect: (alone) => {
      const unusual: FoundValue[] = [];
      return { ...selectAll(ownEvents(alone), selectBy(excluding, devicesOf(alone), unusual)), unusual };
    },
    take: (events, alone) => selectAll(events, selectBy(changes, devicesOf(alone), [])),
  };
}

function selectAll(events: readonly WireEvent[], select: SelectOne): Selection {
  const own = new Set(ownEvents(events));
  const kept: WireEvent[] = [];
  const leftOut: { readonly event: WireEvent; readonly reason: string }[] = [];
  for (const event of events) {
    const selected = select(event, own.has(event));
    if (typeof selected === 'string') leftOut.push({ event, reason: selected });
    else kept.push(selected);
  }
  return { events: kept, leftOut };
}

/**
 * Returns the record's own events. Links next to other events come from the reader; in a record of links alone they are its own.
 */
function ownEvents(events: readonly WireEvent[]): readonly WireEvent[] {
  const own = events.filter((event) => !isLink(event));
  return own.length === 0 ? events : own;
}

function isEvent(event: WireEvent | string): event is WireEvent {
  return typeof event !== 'string';
}
