import type { WireEvent } from '../../contract/wire-event.ts';
import type { ImportChoice } from '../../contract/import-choice.ts';
import type { RecordReader, RecordResult, RecordTimes } from '../formats/format.ts';
import { createDeviceFinder, deviceOnly } from './identity-policy.ts';
import type { JoinTable } from './join-table.ts';
import { changesOf, filtersOf, linkFilterOf } from './order.ts';
import { withRules } from './ruled-reader.ts';
import { isLink, type Change, type Filter } from './step.ts';

export interface ChosenReaderOptions {
  /** Those of the choice's joins, in their order. */
  readonly tables?: readonly JoinTable[];
  /** Of the format. */
  readonly times?: RecordTimes | undefined;
  /** Times after this lie in the future; ms since the epoch. */
  readonly now: number;
}

/**
 * The reader of a format with a choice applied; without one it is the format's own. Throws FormatOptionsError for a rule that the
 * format's records have nothing for.
 */
export function createChosenReader(
  createOwn: () => RecordReader,
  choice: ImportChoice | undefined,
  { tables = [], times, now }: ChosenReaderOptions,
): RecordReader {
  if (choice === undefined) return createOwn();
  const create = withRules(createOwn, choice, { times, now });
  return withChanges(create, withFilters(create, choice), { choice, tables });
}

/**
 * The reader that makes the events sees only records of which something is taken: it says once that a device belongs to a user,
 * and has to say it at an event that is there. A second reader, whose events nobody gets, finds out which records those are.
 */
function withFilters(create: () => RecordReader, choice: ImportChoice): RecordReader {
  const filters = filtersOf(choice);
  if (filters.length === 0) return create();
  const look = create();
  const read = create();
  const linkReasonOf = linkFilterOf(choice);
  const reasonOf: Filter = (event) => {
    for (const filter of filters) {
      const reason = filter(event);
      if (reason !== undefined) return reason;
    }
    return undefined;
  };
  return (record) => {
    const seen = look(record);
    if (seen.kind === 'events' && seen.events.length > 0) {
      const leftOut = reasonsOf(ownEvents(seen.events), reasonOf);
      if (leftOut !== undefined) return chosenResult([], [...leftOut, ...(seen.chosen?.leftOut ?? [])], seen);
    }
    return filterEvents(read(record), reasonOf, linkReasonOf);
  };
}

/** Why each of the events is left out; undefined: one of them stays. */
function reasonsOf(events: readonly WireEvent[], reasonOf: Filter): readonly string[] | undefined {
  const reasons: string[] = [];
  for (const event of events) {
    const reason = reasonOf(event);
    if (reason === undefined) return undefined;
    reasons.push(reason);
  }
  return reasons;
}

/** What a record says itself. Links beside other events are the reader's; a record of links alone means them. */
function ownEvents(events: readonly WireEvent[]): readonly WireEvent[] {
  const own = events.filter((event) => !isLink(event));
  return own.length === 0 ? events : own;
}

function filterEvents(result: RecordResult, reasonOf: Filter, linkReasonOf: Filter): RecordResult {
  if (result.kind !== 'events' || result.events.length === 0) return result;
  const own = new Set(ownEvents(result.events));
  const leftOut: string[] = [];
  const events = result.events.filter((event) => {
    const reason = own.has(event) ? reasonOf(event) : linkReasonOf(event);
    if (reason !== undefined) leftOut.push(reason);
    return reason === undefined;
  });
  return chosenResult(events, [...(result.chosen?.leftOut ?? []), ...leftOut], result);
}

/** Of a record with events. One of which nothing stays is left out for the reason of its first. */
function chosenResult(
  events: readonly WireEvent[],
  leftOut: readonly string[],
  { odd, notes }: Pick<RecordResult, 'odd' | 'notes'>,
): RecordResult {
  const chosen = { read: events.length + leftOut.length, leftOut };
  const found = { chosen, ...(odd && { odd }), ...(notes && { notes }) };
  return events.length === 0
    ? { kind: 'skipped', reason: leftOut[0] ?? '', ...found }
    : { kind: 'events', events, ...found };
}

function withChanges(
  create: () => RecordReader,
  read: RecordReader,
  { choice, tables }: { readonly choice: ImportChoice; readonly tables: readonly JoinTable[] },
): RecordReader {
  const changes = changesOf(choice, tables);
  const devicesOf = choice.identity === 'device_only' ? createDeviceFinder(create) : undefined;
  if (changes.length === 0 && devicesOf === undefined) return read;
  return (record) => {
    const result = read(record);
    if (result.kind !== 'events' || result.events.length === 0) return result;
    const devices = devicesOf?.(record);
    const leftOut: string[] = [...(result.chosen?.leftOut ?? [])];
    const events: WireEvent[] = [];
    for (const event of result.events) {
      const known = devices === undefined ? event : deviceOnly(event, devices);
      const changed = typeof known === 'string' ? known : changeEvent(known, changes);
      if (typeof changed === 'string') leftOut.push(changed);
      else events.push(changed);
    }
    return chosenResult(events, leftOut, result);
  };
}

function changeEvent(event: WireEvent, changes: readonly Change[]): WireEvent | string {
  let changed = event;
  for (const change of changes) {
    const next = change(changed);
    if (typeof next === 'string') return next;
    changed = next;
  }
  return changed;
}
