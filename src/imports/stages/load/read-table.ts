import { isoOfMicros } from '../../../base/clock.ts';
import type { Retry } from '../../../base/retry.ts';
import { groupEvents, mergeEvents } from '../../../wire/contract/profile-events.ts';
import type { RunRef } from '../../../stores/events/eventstore.ts';
import type { EventRow } from '../../../stores/events/rows.ts';
import {
  readRunTableDay,
  runTableDaysAbout,
  type EventsAbout,
  type FactsOf,
} from '../../../stores/events/run-table-reads.ts';
import type { RunTable } from '../../../stores/events/run-table-names.ts';
import type { RunStore } from '../../../stores/events/run-tables.ts';
import type { StoredDay } from '../../run/import-day.ts';
import { RunFailedError } from '../../run/leased-run.ts';
import { readStore } from '../../targets/read-store.ts';
import type { EventTexts } from './event-texts.ts';

interface TableSource {
  readonly runStore: RunStore;
  readonly ref: RunRef;
  readonly retry: Retry;
}

export interface FrameSource extends TableSource {
  /** Events of each frame of a day but the last. */
  readonly frameEvents: number;
  /** Size of a page as JSON. */
  readonly pageBytes: number;
}

export interface DayFrame extends EventTexts {
  /** Index in the day, from 0. */
  readonly index: number;
  /** Whether it may merge persons. */
  readonly merges: boolean;
}

const pageEventsMax = 50_000;
const factsPerPage = 50_000;
const aboutGroups: EventsAbout = { events: [...groupEvents], property: '$groups' };

/** Reads the frames of a day from `first` on, in order. Throws RunFailedError if the table has other events than the check counted. */
export async function* readFrames(source: FrameSource, day: StoredDay, first: number): AsyncGenerator<DayFrame> {
  const { frameEvents, pageBytes } = source;
  const limit = Math.max(frameEvents, Math.min(pageEventsMax, Math.floor((pageBytes * day.events) / day.bytes)));
  let index = 0;
  let events = 0;
  let rows: EventRow[] = [];
  for await (const page of readPages(source, day.day, 'rows', limit)) {
    events += page.length;
    for (const row of page) {
      rows.push(row);
      if (rows.length < frameEvents) continue;
      if (index >= first) yield frameOf(day.day, index, rows);
      index += 1;
      rows = [];
    }
  }
  if (events !== day.events) throw missingRows(`${events} of ${day.events} events of ${day.day}`);
  if (rows.length > 0) yield frameOf(day.day, index, rows);
}

function frameOf(day: string, index: number, rows: readonly EventRow[]): DayFrame {
  return { day, index, texts: rows.map(textOf), merges: rows.some(({ event }) => mergeEvents.has(event)) };
}

/** Reads events with facts about groups, in the order of time. */
export async function* readGroupFacts(source: TableSource, facts: FactsOf): AsyncGenerator<EventTexts> {
  const { runStore, ref, retry } = source;
  for (const day of await retry(() => readStore(() => runTableDaysAbout(runStore, ref, facts, aboutGroups)))) {
    for await (const rows of readPages(source, day, facts.from, factsPerPage, aboutGroups)) {
      if (rows.length > 0) yield { day, texts: rows.map(textOf) };
    }
  }
}

/** Reads the next page while one is processed. */
async function* readPages(
  { runStore, ref, retry }: TableSource,
  day: string,
  of: RunTable,
  limit: number,
  about?: EventsAbout,
): AsyncGenerator<readonly EventRow[]> {
  type Page = Awaited<ReturnType<typeof readRunTableDay>>;
  const read = (after: Page['next']): Promise<Page> => {
    const page = retry(() => readStore(() => readRunTableDay(runStore, ref, day, { of, after, limit, about })));
    // It is awaited later, or never if the load ends earlier.
    page.catch(() => undefined);
    return page;
  };
  let ahead: Promise<Page> | undefined = read(undefined);
  while (ahead !== undefined) {
    const { items, next }: Page = await ahead;
    ahead = next === undefined ? undefined : read(next);
    yield items;
  }
}

/** Formats an event as JSON, with its properties byte for byte as the check wrote them. */
function textOf({ uuid, event, distinctId, timestampMicros, properties }: EventRow): string {
  const time = isoOfMicros(timestampMicros).replace(/000Z$/, 'Z');
  return `{"uuid":"${uuid}","event":${JSON.stringify(event)},"distinct_id":${JSON.stringify(distinctId)},"timestamp":"${time}","properties":${properties}}`;
}

/** Throws RunFailedError if the run's table no longer has these days. */
export async function assertRunTable({ runStore, ref, retry }: TableSource, days: readonly StoredDay[]): Promise<void> {
  if (days.length === 0) return;
  const partitions = await retry(() => readStore(() => runStore.runTables.partitions(ref)));
  const rows = new Map(partitions.map((each) => [each.month, each.rows]));
  for (const [month, of] of byMonth(days)) {
    const expected = of.reduce((sum, { events }) => sum + events, 0);
    const found = rows.get(month) ?? 0;
    if (found < expected) throw missingRows(`${found} of ${expected} events of ${of[0]?.day.slice(0, 7)}`);
  }
}

/** Groups days by month (202403). */
export function byMonth(days: readonly StoredDay[]): ReadonlyMap<number, readonly StoredDay[]> {
  return Map.groupBy(days, ({ day }) => monthOf(day));
}

function monthOf(day: string): number {
  return Number(day.slice(0, 7).replace('-', ''));
}

function missingRows(found: string): RunFailedError {
  return new RunFailedError(
    `expected the table of the run in the event store as the check wrote it, got: ${found}; the table is missing, or the store was restored`,
    { advice: 'startAgain' },
  );
}
