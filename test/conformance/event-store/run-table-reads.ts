import { expect, it } from 'vitest';
import {
  attachAll,
  hostileTexts,
  insertSegment,
  newRun,
  runRow,
  sourceStart as start,
} from '../../support/run-table-rows.ts';
import { dayMicros, insertRows } from './event-store.ts';
import type { RunRef } from '../../../src/stores/events/eventstore.ts';
import { comparedCounts, differingEvents, type ComparedKind } from '../../../src/stores/events/run-comparison.ts';
import type { NamedIdentityKey } from '../../../src/stores/events/import-reads.ts';
import type { EventRow } from '../../../src/stores/events/rows.ts';
import {
  readRunTableDay,
  runTableChanged,
  runTableDays,
  runTableEvents,
  runTableProperties,
  runTableRepeated,
  type RunPageOf,
  type RunRowKey,
} from '../../../src/stores/events/run-table-reads.ts';
import type { RunStore } from '../../../src/stores/events/run-tables.ts';

const keyDay = 19_783;
const day = '2024-03-01';

/** Reads of the tables of runs, part of runTablesConformance. */
export function runTableReadTests(store: () => RunStore): void {
  dayTests(store);
  pageTests(store);
  duplicateTests(store);
  comparisonTests(store);
}

function dayTests(store: () => RunStore): void {
  it('days are counted with all rows and their size as JSON', async () => {
    const run = newRun();
    await store().runTables.create(run);
    expect(await runTableDays(store(), run)).toEqual([]);
    const rows = [-25_567, keyDay, keyDay + 1, keyDay].map((each, n) =>
      runRow(run, n, { keyDay: each, properties: JSON.stringify({ long: 'x'.repeat(2000) }) }),
    );
    await insertSegment(store(), run, '0', [...rows, { ...(rows[1] as EventRow), receivedAtMicros: start + 100 }]);
    const days = await runTableDays(store(), run);
    expect(days.map((each) => [each.day, each.rows])).toEqual([
      ['1900-01-01', 1],
      [day, 3],
      ['2024-03-02', 1],
    ]);
    const { uuid, event, distinctId, properties } = rows[0] as EventRow;
    const timestamp = '2024-03-01T00:00:00.000000Z';
    const json = JSON.stringify({ uuid, event, distinct_id: distinctId, timestamp, properties: '' });
    for (const each of days) {
      const expected = each.rows * (json.length + properties.length);
      expect(Math.abs(each.bytes - expected)).toBeLessThan(expected / 100);
    }
    await store().runTables.drop(run);
  });
}

async function readDay(store: RunStore, run: RunRef, of?: RunPageOf['of']): Promise<EventRow[]> {
  const read: EventRow[] = [];
  for (let after: RunRowKey | undefined; ;) {
    const page = await readRunTableDay(store, run, day, { after, limit: 7, ...(of && { of }) });
    read.push(...page.items);
    after = page.next;
    if (after === undefined) return read;
  }
}

function pageTests(store: () => RunStore): void {
  it('a day is read in order of time, then of the source, each event once, in pages without gaps', async () => {
    const run = newRun();
    await store().runTables.create(run);
    const rows = Array.from({ length: 50 }, (_, n) =>
      runRow(run, n, {
        keyDay,
        timestampMicros: keyDay * dayMicros + (((n * 31) % 50) >> 2),
        event: n % 2 === 0 ? 'a\0' : "it's",
        distinctId: hostileTexts[n % 7] as string,
      }),
    );
    await insertSegment(store(), run, '0', rows.slice(25));
    await insertSegment(store(), run, '1', [
      ...rows.slice(0, 25),
      { ...(rows[3] as EventRow), receivedAtMicros: start + 100, properties: '{"second":1}' },
      runRow(run, 60, { keyDay: keyDay + 1 }),
    ]);
    const inOrder = rows.toSorted(
      (a, b) => a.timestampMicros - b.timestampMicros || a.receivedAtMicros - b.receivedAtMicros,
    );
    expect(await readDay(store(), run)).toEqual(inOrder);
    await store().runTables.drop(run);
  });

  it('facts of a day are read in the same order', async () => {
    const run = newRun();
    await store().runTables.create(run);
    await insertSegment(store(), run, '0', [runRow(run, 0)]);
    const facts = Array.from({ length: 20 }, (_, n) => runRow(run, n, { distinctId: `user-${n % 3}` }));
    await insertSegment(store(), run, '0', facts.toReversed(), 'facts');
    expect(await readDay(store(), run, 'facts')).toEqual(facts);
    await store().runTables.drop(run);
  });

  it('events of some names and a day are listed once each by page, and their properties are returned as written', async () => {
    const run = newRun();
    await store().runTables.create(run);
    const rows = Array.from({ length: 30 }, (_, n) =>
      runRow(run, n, { keyDay, distinctId: hostileTexts[n % 7] as string, properties: `{"n":1${n}e400}` }),
    );
    const others = Array.from({ length: 9 }, (_, n) => runRow(run, 61 + n, { event: 'a\0', distinctId: `user-${n}` }));
    await insertSegment(store(), run, '0', rows);
    await insertSegment(store(), run, '1', [
      { ...(rows[3] as EventRow), receivedAtMicros: start + 100, properties: '{"second":1}' },
      runRow(run, 60, { keyDay: keyDay + 1 }),
      ...others,
      runRow(run, 69, { event: 'unnamed' }),
    ]);
    const seen = [];
    for (let after: NamedIdentityKey | undefined; ;) {
      const page = await runTableEvents(
        store(),
        run,
        { day, events: ['seen', 'a\0'], after },
        { limit: 7, contents: 'crc32' },
      );
      seen.push(...page.events.map(({ event, uuid, distinctId, runId }) => [event, uuid, distinctId, runId]));
      after = page.next;
      if (after === undefined) break;
    }
    const expected = [...rows, ...others].map((row) => [row.event, row.uuid, row.distinctId, run.runId]);
    expect(seen.toSorted()).toEqual(expected.toSorted());
    const asked = rows.slice(2, 5);
    const where = { day, event: 'seen', uuids: asked.map(({ uuid }) => uuid) };
    const found = await runTableProperties(store(), run, where);
    expect(new Map(found.map(({ uuid, properties }) => [uuid, properties]))).toEqual(
      new Map(asked.map(({ uuid, properties }) => [uuid, properties])),
    );
    await store().runTables.drop(run);
  });
}

/** Stores what gives each of the kinds, under ids of every character, on two days. Returns the ids of each kind. */
async function storeKinds(store: RunStore, run: RunRef): Promise<ReadonlyMap<ComparedKind, readonly string[]>> {
  await store.runTables.create(run);
  const kinds = ['same', 'altered', 'changed', 'other', 'missing', 'unexpected'] as const;
  const ids = new Map<ComparedKind, string[]>();
  const [table, stored]: [EventRow[], EventRow[]] = [[], []];
  for (const [n, id] of hostileTexts
    .slice(0, 7)
    .flatMap((text) => kinds.map((kind) => `${kind} ${text}`))
    .entries()) {
    const kind = kinds[n % kinds.length] ?? 'same';
    ids.set(kind, [...(ids.get(kind) ?? []), id]);
    const row = runRow(run, n, {
      keyDay: keyDay + (n % 2),
      distinctId: id,
      properties: `{"n":12345678901234567890${n}}`,
    });
    if (kind !== 'unexpected') table.push(row);
    if (kind === 'altered') stored.push({ ...row, properties: row.properties.replace('90', '91') });
    else if (kind === 'changed') stored.push({ ...row, timestampMicros: row.timestampMicros + 1 });
    else if (kind === 'other')
      stored.push({ ...row, importRun: '', properties: '{}', receivedAtMicros: start - 1 }, row);
    else if (kind !== 'missing') stored.push(row);
  }
  await insertSegment(store, run, '0', [...table.slice(20), ...table.slice(0, 3)]);
  await insertSegment(store, run, '1', table.slice(0, 20));
  const foreign = newRun(run.projectId);
  await insertRows(store, run.runId, [...stored, runRow(foreign, 1), runRow(newRun(), 1)]);
  return ids;
}

function comparisonTests(store: () => RunStore): void {
  it('the table of a run is compared with the stored events by identity, whole or by share', async () => {
    const run = newRun();
    const ids = await storeKinds(store(), run);
    const days = { from: day, to: '2024-03-02', contents: 'crc32' } as const;
    const found = new Map<string, number>();
    const listed: string[] = [];
    for (const share of [undefined, { index: 0, of: 2 }, { index: 1, of: 2 }]) {
      for (const { kind, runId, count } of await comparedCounts(store(), run, { ...days, share })) {
        expect(runId).toBe(kind === 'missing' || kind === 'other' ? '' : run.runId);
        found.set(kind, (found.get(kind) ?? 0) + count);
      }
      const differing = await differingEvents(store(), run, { ...days, share }, { altered: share === undefined });
      listed.push(...differing.map(({ kind, distinctId }) => `${kind} of ${distinctId}`));
    }
    expect(found).toEqual(new Map([...ids].map(([kind, of]) => [kind, 2 * of.length])));
    const expected = (['changed', 'missing', 'unexpected'] as const).flatMap((kind) =>
      (ids.get(kind) ?? []).flatMap((id) => [`${kind} of ${id}`, `${kind} of ${id}`]),
    );
    const altered = (ids.get('altered') ?? []).map((id) => `altered of ${id}`);
    expect(listed.toSorted()).toEqual([...expected, ...altered].toSorted());
    await store().runTables.drop(run);
  });

  it('a run whose months are attached compares as the same', async () => {
    const run = newRun();
    await store().runTables.create(run);
    await insertSegment(store(), run, '0', [runRow(run, 0), runRow(run, 1)]);
    await attachAll(store(), run);
    const counts = await comparedCounts(store(), run, { from: day, to: day, contents: 'md5' });
    const same = { day, event: 'seen', kind: 'same', runId: run.runId, count: 2, otherTimes: 0, otherContents: 0 };
    expect(counts).toEqual([same]);
    await store().runTables.drop(run);
  });
}

/** Returns rows of one identity: `34x 33y+` is one at place 34, and one at place 33 with other properties and a later time. */
function sameEvents(run: RunRef, rows: string, on = keyDay): EventRow[] {
  const { uuid } = runRow(run, 0);
  return rows.split(' ').map((row) => {
    const [, place, value, later = ''] = /^(\d+)(\w)(\+?)$/.exec(row) ?? [];
    const timestampMicros = on * dayMicros + later.length;
    return runRow(run, Number(place), { keyDay: on, timestampMicros, uuid, properties: JSON.stringify({ value }) });
  });
}

function duplicateTests(store: () => RunStore): void {
  it('duplicates that differ from the first of the source are counted once each', async () => {
    const run = newRun();
    await store().runTables.create(run);
    const identities = [
      ['10x', 0],
      ['20x 21x 22x', 0],
      // The first of the source is inserted last.
      ['34x 33y 32x 31z 30y', 3],
      ['40x 41x+', 1],
      // The same place twice, of the first row and of a different one.
      ['50x 50x', 0],
      ['60x 61y 60x 61y', 1],
    ] as const;
    const all = [...identities.flatMap(([rows]) => sameEvents(run, rows)), ...sameEvents(run, '70x 71y', keyDay + 1)];
    for (const [at, row] of all.entries()) await insertSegment(store(), run, `${at}`, [row]);
    await insertSegment(store(), run, 'more', [runRow(run, 1000), runRow(run, 1001)]);
    const changed = identities.reduce((sum, [, each]) => sum + each, 0);
    expect(await runTableChanged(store(), run, day)).toBe(changed);
    expect(await runTableChanged(store(), run, '2024-03-02')).toBe(1);
    expect(await runTableChanged(store(), run, '2024-03-03')).toBe(0);
    await store().runTables.drop(run);
  });

  it('events repeated from an earlier day are counted, and estimated from a share of the uuids', async () => {
    const run = newRun();
    await store().runTables.create(run);
    expect(await runTableRepeated(store(), run, 1)).toBe(0);
    const rows = Array.from({ length: 400 }, (_, n) =>
      runRow(run, n, { uuid: `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`, distinctId: `user-${n % 9}` }),
    );
    const again = (number: number, more: Partial<EventRow>): EventRow => ({ ...(rows[number] as EventRow), ...more });
    await insertSegment(store(), run, '0', rows);
    // A duplicate on the same day, or an event with another name or distinct_id, does not count.
    const none = [again(0, { receivedAtMicros: start + 900 }), again(1, { keyDay: 1, event: 'other' })];
    await insertSegment(store(), run, '1', [...none, again(2, { keyDay: 1, distinctId: 'other' })]);
    expect(await runTableRepeated(store(), run, 1)).toBe(0);
    await insertSegment(
      store(),
      run,
      '2',
      [1, 2, 2].map((each) => again(3, { keyDay: each })),
    );
    expect(await runTableRepeated(store(), run, 1)).toBe(2);
    const allAgain = rows.map((_, number) => again(number, { keyDay: 1 }));
    await insertSegment(store(), run, '3', allAgain);
    expect(await runTableRepeated(store(), run, 1)).toBe(401);
    const estimate = await runTableRepeated(store(), run, 4);
    expect([estimate % 4, estimate > 200, estimate < 600]).toEqual([0, true, true]);
    await store().runTables.drop(run);
  });
}
