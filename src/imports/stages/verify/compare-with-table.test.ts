import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dayMicros, insertRows } from '../../../../test/conformance/event-store/event-store.ts';
import { tempChdb, type TempChdb } from '../../../../test/support/chdb.ts';
import { createPick, exactValue, type Pick as Pick_ } from '../../../../test/support/exact-values.ts';
import { newDay } from '../../../../test/support/leased-run.ts';
import { hostileTexts, insertSegment, newRun, runRow } from '../../../../test/support/run-table-rows.ts';
import { openIngest } from '../../../../test/support/store-ingest.ts';
import { expectedOf } from '../../../../test/support/staged-days.ts';
import type { RunRef } from '../../../stores/events/eventstore.ts';
import type { EventRow } from '../../../stores/events/rows.ts';
import type { RunStore } from '../../../stores/events/run-tables.ts';
import { runMark, type ContentKind } from '../../checksum.ts';
import type { StoredDay } from '../../run/import-day.ts';
import type { TargetReader } from '../../target.ts';
import { createAttachTurns, openProjectTarget } from '../../targets/project-target.ts';
import { compareDay, type FoundOnDay } from './compare-day.ts';
import { createTableComparer } from './compare-with-table.ts';
import type { Counts } from './counts-reader.ts';
import { createDifferences, type Differences } from './differences.ts';

let chdb: TempChdb;
beforeAll(async () => {
  chdb = await tempChdb();
});
afterAll(() => chdb.close());

const names = ['viewed', 'left "early"', 'a\0b', `'; TRUNCATE TABLE events; --`];
/** Three months and 1969. */
const keyDays = [-2, 19_752, 19_753, 19_754, 19_782, 19_783, 19_784, 19_812];
const signal = new AbortController().signal;

function optionsOf(store: RunStore, run: RunRef, reader: TargetReader) {
  return { store, run, reader, mayBeTransformed: false, signal };
}

function readerOf(store: RunStore, { projectId, runId }: RunRef): TargetReader {
  const { reader } = openProjectTarget({
    projectId,
    runId,
    store,
    ingest: openIngest(async () => {}),
    isWatched: async () => false,
    isAwaitedByUndo: async () => false,
    turns: createAttachTurns(),
    drained: async () => {},
  });
  if (reader === undefined) throw new Error('expected a reader');
  return reader;
}

const dayOf = (keyDay: number): string => new Date(keyDay * 86_400_000).toISOString().slice(0, 10);

function daysOf(rows: readonly EventRow[], contents: ContentKind = 'crc32'): StoredDay[] {
  const days = [...Map.groupBy(rows, ({ keyDay }) => keyDay)].toSorted(([a], [b]) => a - b);
  return days.map(([keyDay, of]) => {
    const expected = JSON.stringify(expectedOf(of, contents));
    return Object.assign({ day: dayOf(keyDay), events: of.length, bytes: 1, frames: 1, expected }, newDay);
  });
}

/** Returns events of a run with every digit and character, some of which share their uuid. */
function dirtyRows(run: RunRef, pick: Pick_, count: number): EventRow[] {
  const rows: EventRow[] = [];
  for (let n = 0; n < count; n += 1) {
    const keyDay = keyDays[pick(keyDays.length)] ?? 0;
    const same = pick(12) === 0 ? rows[pick(rows.length)] : undefined;
    rows.push(
      runRow(run, n, {
        keyDay,
        timestampMicros: keyDay * dayMicros + pick(1_000_000),
        event: names[pick(names.length)] ?? '',
        distinctId: `${hostileTexts[pick(7)]}${pick(4)}`,
        properties: `{"price":12345678901234567890${n},"value":${exactValue(pick)}}`,
        ...(same && { uuid: same.uuid, keyDay: same.keyDay }),
      }),
    );
  }
  const keyOf = ({ keyDay, event, distinctId, uuid }: EventRow): string =>
    JSON.stringify([keyDay, event, distinctId, uuid]);
  return [...new Map(rows.map((row) => [keyOf(row), row])).values()];
}

/** Returns `row` as another run, or live capture under an empty id, has stored it. */
function storedBy(row: EventRow, runId: string, by: string, receivedAtMicros: number): EventRow {
  const properties = `${row.properties.slice(0, -runMark(runId).length)}${by === '' ? '}' : runMark(by)}`;
  return { ...row, importRun: by, properties, receivedAtMicros };
}

/** Returns what `events` has of the row: everything that can happen to an event, with `faults` also what must not. */
function storedRows(row: EventRow, { runId }: RunRef, pick: Pick_, faults: boolean): EventRow[] {
  const later = { timestampMicros: row.timestampMicros + 1 };
  const digit = { properties: row.properties.replace('1234567890123456789', '1234567890123456788') };
  const live = storedBy(row, runId, '', row.receivedAtMicros - 5);
  const other = storedBy(row, runId, `other-${pick(2)}`, row.receivedAtMicros - 3);
  switch (pick(faults ? 14 : 7)) {
    case 0:
      return [live];
    case 1:
      return [other];
    case 2:
      return [{ ...other, ...later }];
    case 3:
      return [{ ...live, ...digit, properties: storedBy({ ...row, ...digit }, runId, '', 0).properties }];
    case 4:
      // The first one is shown.
      return [row, other, live];
    case 5:
      return [row, storedBy(row, runId, 'other-1', row.receivedAtMicros + 5)];
    case 6:
      return [row];
    case 7:
      return [];
    case 8:
      return [{ ...row, ...later }];
    case 9:
      return [{ ...row, ...digit }];
    case 10:
      return [{ ...row, event: names[pick(names.length)] ?? '' }];
    case 11:
      return [{ ...row, distinctId: 'renamed' }];
    case 12:
      return [row, { ...row, uuid: randomUUID() }, { ...live, uuid: randomUUID() }];
    default:
      return [{ ...row, properties: row.properties.replace(':12345', ': 12345') }];
  }
}

interface Found {
  readonly found: FoundOnDay;
  readonly differences: Differences;
}

function shownOf({ found, differences }: Found) {
  return {
    ...found,
    counts: new Map([...found.counts].toSorted()),
    byOthers: new Map([...found.byOthers].toSorted()),
    faults: differences.faults(),
    earlier: differences.earlier(),
    cells: [...differences.events()].toSorted(),
    kept: differences
      .kept()
      .map((each) => JSON.stringify(each))
      .toSorted(),
  };
}

describe('comparing days within the store', () => {
  const none = (): Counts | undefined => undefined;
  const all = (): Counts => new Map();

  it.each([
    { identitiesMax: 10_000, known: all, mayBeTransformed: false, contents: 'crc32' },
    { identitiesMax: 80, known: all, mayBeTransformed: false, contents: 'md5' },
    { identitiesMax: 17, known: none, mayBeTransformed: false, contents: 'crc32' },
    { identitiesMax: 10_000, known: none, mayBeTransformed: true, contents: 'crc32' },
  ] as const)(
    'finds what reading every event finds, %o',
    async ({ identitiesMax, known, mayBeTransformed, contents }) => {
      const pick = createPick(identitiesMax);
      const run = newRun();
      const rows = dirtyRows(run, pick, 240);
      const { store } = chdb;
      await store.runTables.create(run);
      await insertSegment(store, run, '0', rows.slice(120));
      await insertSegment(store, run, '1', [...rows.slice(0, 120), ...rows.slice(0, 20)]);
      const stored = rows.flatMap((row) => storedRows(row, run, pick, true));
      await insertRows(
        store,
        `${run.runId}-0`,
        stored.filter((_row, n) => n % 2 === 0),
      );
      await insertRows(
        store,
        `${run.runId}-1`,
        stored.filter((_row, n) => n % 2 === 1),
      );
      const reader = readerOf(store, run);
      const days = daysOf(rows, contents);
      const common = { ...optionsOf(store, run, reader), mayBeTransformed };
      const comparer = createTableComparer({ ...common, known, identitiesMax }, days);
      let faults = 0;
      for (const day of days) {
        const of = names.slice(0, 1 + pick(names.length));
        const [one, other] = [createDifferences(1000), createDifferences(1000)];
        const found = await comparer.compare(day, new Set(of), one);
        const refused = new Set<string>();
        const where = { ...common, day: day.day, events: of, expected: day.events, refused, contents };
        const expected = await compareDay({ ...where, differences: other });
        expect(shownOf({ found, differences: one })).toEqual(shownOf({ found: expected, differences: other }));
        faults += one.faults();
      }
      expect(faults).toBeGreaterThan(20);
      await store.runTables.drop(run);
    },
  );

  /** Stores `count` events of each name and day for others before the run, which has them in its table, and compares. */
  async function overlap(count: number): Promise<{ queries: number; byOthers: number }> {
    let queries = 0;
    const store: RunStore = {
      ...chdb.store,
      query: async (sql, params) => {
        queries += 1;
        return await chdb.store.query(sql, params);
      },
    };
    const run = newRun();
    const rows = keyDays.flatMap((keyDay) =>
      names.flatMap((event) => Array.from({ length: count }, (_, n) => runRow(run, n, { keyDay, event }))),
    );
    await store.runTables.create(run);
    await insertSegment(store, run, '0', rows);
    const others = rows.map((row, n) => storedBy(row, run.runId, n % 2 === 0 ? 'other' : '', row.receivedAtMicros - 1));
    const [first] = others;
    if (first === undefined) throw new Error('expected rows');
    const stored = [{ ...first, timestampMicros: first.timestampMicros + 1 }, ...others.slice(1)];
    await insertRows(store, run.runId, stored);
    const reader = readerOf(store, run);
    const days = daysOf(rows);
    const comparer = createTableComparer({ ...optionsOf(store, run, reader), known: all }, days);
    queries = 0;
    let byOthers = 0;
    for (const day of days) {
      const found = await comparer.compare(day, new Set(names), createDifferences(10));
      byOthers += [...found.byOthers.values()].reduce((sum, each) => sum + each, 0);
    }
    await store.runTables.drop(run);
    return { queries, byOthers };
  }

  it('the number of queries depends on months, not on the days, names and events that others have stored', async () => {
    const cells = keyDays.length * names.length;
    const months = new Set(keyDays.map((each) => dayOf(each).slice(0, 7))).size;
    for (const count of [1, 20, 300]) {
      // One more query lists the event that has another time.
      expect(await overlap(count)).toEqual({ queries: months + 1, byOthers: count * cells });
    }
  });
});
