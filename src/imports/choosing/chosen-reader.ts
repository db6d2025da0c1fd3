import type { WireEvent } from '../../contract/wire-event.ts';
import type { ImportChoice } from '../../contract/import-choice.ts';
import type { Chosen, RecordReader, RecordResult } from '../formats/format.ts';
import { filtersOf, linkFilterOf } from './order.ts';
import { isLink, type Filter } from './step.ts';

/**
 * The reader of a format with a choice applied. The reader that makes the events sees only records of which something is taken:
 * it says once that a device belongs to a user, and has to say it at an event that is there. A second reader, whose events nobody
 * gets, finds out which records those are.
 */
export function createChosenReader(create: () => RecordReader, choice: ImportChoice | undefined): RecordReader {
  const filters = choice === undefined ? [] : filtersOf(choice);
  if (choice === undefined || filters.length === 0) return create();
  const linkReasonOf = linkFilterOf(choice);
  const look = create();
  const read = create();
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
      if (leftOut !== undefined) return { kind: 'skipped', reason: leftOut[0] ?? '', chosen: chosen(leftOut) };
    }
    return chooseEvents(read(record), reasonOf, linkReasonOf);
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

function chooseEvents(result: RecordResult, reasonOf: Filter, linkReasonOf: Filter): RecordResult {
  if (result.kind !== 'events' || result.events.length === 0) return result;
  const own = new Set(ownEvents(result.events));
  const leftOut: string[] = [];
  const events = result.events.filter((event) => {
    const reason = own.has(event) ? reasonOf(event) : linkReasonOf(event);
    if (reason !== undefined) leftOut.push(reason);
    return reason === undefined;
  });
  const counts = { read: result.events.length, leftOut };
  if (events.length === 0) return { kind: 'skipped', reason: leftOut[0] ?? '', chosen: counts };
  return { kind: 'events', events, chosen: counts };
}

function chosen(leftOut: readonly string[]): Chosen {
  return { read: leftOut.length, leftOut };
}
