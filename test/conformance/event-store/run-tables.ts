import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  attachAll,
  countsOf,
  expectedCounts,
  hostileTexts,
  insertSegment,
  newRun,
  runRow,
  sourceStart as start,
  unmarked,
} from '../../support/run-table-rows.ts';
import { countRows, dayMicros, insertRows, newProject, testRow } from './event-store.ts';
import type { RunRef } from '../../../src/stores/events/eventstore.ts';
import { EventRowWriter, type EventRow } from '../../../src/stores/events/rows.ts';
import { runFactTests } from './run-facts.ts';
import { runTableReadTests } from './run-table-reads.ts';
import type { RunStore } from '../../../src/stores/events/run-tables.ts';

/** The promises of every adapter about the tables of runs. Each test has a separate run and project in one store. */
export interface RunStoreUnderTest {
  readonly store: RunStore;
  close(): Promise<void>;
}

export function runTablesConformance(name: string, open: () => Promise<RunStoreUnderTest>): void {
  describe(`tables of runs: ${name}`, () => {
    let under: RunStoreUnderTest;
    beforeAll(async () => {
      under = await open();
    });
    afterAll(async () => under.close());
    const store = (): RunStore => under.store;
    lifeTests(store);
    insertTests(store);
    attachTests(store);
    runTableReadTests(store);
    runFactTests(store);
  });
}

function lifeTests(store: () => RunStore): void {
  const isListed = async ({ projectId, runId }: RunRef): Promise<boolean> => {
    const listed = await store().runTables.list();
    const found = listed.filter((run) => run.projectId === projectId && run.runId === runId).length;
    expect(found).toBeLessThanOrEqual(1);
    return found === 1;
  };

  it('tables are created once, listed once while they exist, and dropped once', async () => {
    const run = newRun();
    expect(await isListed(run)).toBe(false);
    for (let i = 0; i < 2; i++) await store().runTables.create(run);
    expect(await isListed(run)).toBe(true);
    expect(await store().runTables.partitions(run)).toEqual([]);
    for (let i = 0; i < 2; i++) await store().runTables.drop(run);
    expect(await isListed(run)).toBe(false);
    expect(await store().runTables.partitions(run)).toEqual([]);
  });

  it('runs whose ids resemble table names have separate tables', async () => {
    const project = newProject();
    const runs = [
      'a',
      'a-rows',
      'a-local',
      'A',
      'a-rows-local',
      'a-facts',
      'a-ordered',
      'x'.repeat(100),
      '-'.repeat(100),
    ].map((runId) => ({
      projectId: project,
      runId,
    }));
    for (const run of runs) await store().runTables.create(run);
    for (const [at, run] of runs.entries()) await insertSegment(store(), run, '0', [runRow(run, at)]);
    for (const run of runs) expect(await countsOf(store(), run, 'rows')).toMatchObject([{ count: 1 }]);
    const listed = (await store().runTables.list()).filter(({ projectId }) => projectId === project);
    expect(listed.map(({ runId }) => runId).toSorted()).toEqual(runs.map(({ runId }) => runId).toSorted());
    for (const run of runs) await store().runTables.drop(run);
  });

  it('a table that was dropped and recreated is empty and accepts the same segments', async () => {
    const run = newRun();
    const rows = [runRow(run, 1)];
    for (let i = 0; i < 2; i++) {
      await store().runTables.create(run);
      expect(await countsOf(store(), run, 'rows')).toEqual([]);
      await insertSegment(store(), run, '0', rows);
      expect(await countsOf(store(), run, 'rows')).toEqual(expectedCounts(run, rows));
      await store().runTables.drop(run);
    }
  });

  it.each([
    [1, "run'1"],
    [1, ''],
    [1, 'x'.repeat(101)],
    [1, 'events; DROP TABLE events'],
    [1, 'a_b'],
    [1, 'é'],
    [1.5, 'a'],
    [-1, 'a'],
    [2 ** 31, 'a'],
  ])('refuses the project %s with the run %s', async (projectId, runId) => {
    const run = { projectId, runId };
    const { create, drop, attach, insert, partitions } = store().runTables;
    const batch = new EventRowWriter().take();
    for (const work of [() => create(run), () => drop(run), () => attach(run, 202_403), () => partitions(run)]) {
      await expect(work()).rejects.toThrow(/expected a project and the id of a run/);
    }
    await expect(insert(run, batch, '0')).rejects.toThrow(/expected a project and the id of a run/);
  });

  it.each([0, 202_400.5, 20_240_301, NaN])('refuses the month %s', async (month) => {
    await expect(store().runTables.attach(newRun(), month)).rejects.toThrow(/expected a month such as 202403/);
  });

  it.each(['', 'a b', "a'b", 'x'.repeat(101)])('refuses the segment %s', async (segment) => {
    await expect(store().runTables.insert(newRun(), new EventRowWriter().take(), segment)).rejects.toThrow(
      /expected a/,
    );
  });
}

function insertTests(store: () => RunStore): void {
  it('a segment is stored once if inserted repeatedly, also after a partial write, in any order of segments', async () => {
    const run = newRun();
    await store().runTables.create(run);
    const rows = Array.from({ length: 40 }, (_, i) =>
      runRow(run, i, { keyDay: 15_000 + (i % 20) * 31, distinctId: `user-${i % 7}` }),
    );
    const other = [runRow(run, 1000)];
    await insertSegment(store(), run, '1', other);
    // Some of the months, as an interrupted write leaves them.
    await insertSegment(
      store(),
      run,
      '0',
      rows.filter((_, i) => i % 20 < 6),
    );
    for (let i = 0; i < 2; i++) await insertSegment(store(), run, '0', rows);
    await insertSegment(store(), run, '1', other);
    expect(await countsOf(store(), run, 'rows')).toEqual(expectedCounts(run, [...rows, ...other]));
    await store().runTables.drop(run);
  });

  it('facts are separate from rows: the same segment is stored once in each table, and only rows are attached', async () => {
    const run = newRun();
    await store().runTables.create(run);
    const rows = [0, 1, 2].map((n) => runRow(run, n));
    const facts = rows.slice(1).map((row) => Object.assign({}, row, { properties: '{"$set":{"n":1}}' }));
    for (let i = 0; i < 2; i++) {
      await insertSegment(store(), run, '0', facts, 'facts');
      await insertSegment(store(), run, '0', rows);
    }
    expect(await countsOf(store(), run, 'rows')).toEqual(expectedCounts(run, rows));
    expect(await store().runTables.partitions(run, 'facts')).toMatchObject([{ month: 202_403, rows: 2, parts: 1 }]);
    await attachAll(store(), run);
    expect(await countsOf(store(), run, 'shown')).toEqual(expectedCounts(run, rows));
    await store().runTables.drop(run);
    expect(await store().runTables.partitions(run, 'facts')).toEqual([]);
  });

  it('two runs accept the same segment', async () => {
    const runs = [newRun(), newRun()];
    for (const run of runs) {
      await store().runTables.create(run);
      await insertSegment(store(), run, '0', [runRow(run, 0)]);
      expect(await countsOf(store(), run, 'rows')).toMatchObject([{ count: 1 }]);
      await store().runTables.drop(run);
    }
  });

  it('70,000 rows of a year in one segment are counted exactly and attached', async () => {
    const run = newRun();
    await store().runTables.create(run);
    // More than one block of the engine (65,409 rows).
    const rows = Array.from({ length: 70_000 }, (_, i) =>
      runRow(run, i, { keyDay: 19_050 + ((i * 7) % 365), distinctId: `user-${i % 5000}`, event: `event ${i % 2}` }),
    );
    await insertSegment(store(), run, '0', rows);
    const expected = expectedCounts(run, rows);
    expect(await countsOf(store(), run, 'rows')).toEqual(expected);
    const partitions = await store().runTables.partitions(run);
    expect(partitions.reduce((all, each) => all + each.rows, 0)).toBe(70_000);
    for (const { bytes, parts } of partitions) expect([bytes > 0, parts > 0]).toEqual([true, true]);
    expect(await attachAll(store(), run)).toHaveLength(13);
    expect(await countsOf(store(), run, 'shown')).toEqual(expected);
    await store().runTables.drop(run);
  });

  it('parts are never merged, so that the report misses no row of an identity', async () => {
    const run = newRun();
    await store().runTables.create(run);
    const same = runRow(run, 0, { keyDay: 19_783 });
    for (let i = 0; i < 12; i++) await insertSegment(store(), run, `${i}`, [{ ...same, receivedAtMicros: start + i }]);
    const [partition] = await store().runTables.partitions(run);
    expect(partition).toMatchObject({ month: 202_403, rows: 12, parts: 12 });
    await store().runTables.drop(run);
  });
}

function attachTests(store: () => RunStore): void {
  it('texts, digits and days of every kind are attached byte for byte, and stay when the table is dropped', async () => {
    const run = newRun();
    await store().runTables.create(run);
    const days = [-25_567, -1, 0, 19_783, 84_000, 120_529];
    const rows = hostileTexts.flatMap((text, t) =>
      days.map((keyDay, d) =>
        runRow(run, t * days.length + d, {
          keyDay,
          timestampMicros: keyDay * dayMicros + 3 * t + 1,
          event: text.slice(0, 200),
          distinctId: text,
          properties: `{"big":12345678901234567890.1234567890123456789e400,${JSON.stringify(text)}:${JSON.stringify(text)}}`,
        }),
      ),
    );
    await insertSegment(store(), run, '0', rows);
    const expected = expectedCounts(run, rows);
    expect(await countsOf(store(), run, 'rows')).toEqual(expected);
    expect(await attachAll(store(), run)).toEqual([190_001, 196_912, 197_001, 202_403, 219_912, 229_912]);
    await store().runTables.drop(run);
    expect(await countsOf(store(), run, 'shown')).toEqual(expected);
    const stored = await store().query<{ u: string; distinct_id: string; properties: string }>(
      'SELECT toString(uuid) AS u, distinct_id, properties FROM events WHERE project_id = {project:Int32}',
      { project: run.projectId },
    );
    const byUuid = new Map(stored.map((row) => [row.u, row]));
    for (const { uuid, distinctId, properties } of rows) {
      expect(byUuid.get(uuid)).toEqual({ u: uuid, distinct_id: distinctId, properties });
    }
  });

  it('attaching a month again changes nothing that reads return, and a month without rows is not attached', async () => {
    const run = newRun();
    await store().runTables.create(run);
    const rows = [0, 1, 2, 3].map((n) => runRow(run, n, { keyDay: n < 2 ? 19_783 : 19_820 }));
    await insertSegment(store(), run, '0', rows);
    for (const month of [202_403, 202_403, 195_001, 202_404, 202_403]) await store().runTables.attach(run, month);
    expect(await countsOf(store(), run, 'shown')).toEqual(expectedCounts(run, rows));
    expect((await countRows(store(), run.projectId)).shown).toBe(4);
    expect((await store().runTables.partitions(run)).map(({ month }) => month)).toEqual([202_403, 202_404]);
    await store().runTables.drop(run);
  });

  it('the first of equal identities of a source is shown, for any order of inserts', async () => {
    const run = newRun();
    await store().runTables.create(run);
    const same = runRow(run, 5);
    const later = [9, 7].map((n) => runRow(run, n, { uuid: same.uuid }));
    for (const [at, row] of [later[0], same, later[1]].entries()) {
      if (row !== undefined) await insertSegment(store(), run, `${at}`, [row, runRow(run, 100 + at)]);
    }
    await attachAll(store(), run);
    const shown = await countsOf(store(), run, 'shown');
    expect(shown).toMatchObject([{ count: 4 }]);
    expect(shown).toEqual(await countsOf(store(), run, 'events'));
    const [row] = await store().query<{ properties: string }>(
      'SELECT properties FROM events FINAL WHERE project_id = {project:Int32} AND uuid = {uuid:UUID}',
      { project: run.projectId, uuid: same.uuid },
    );
    expect(row?.properties).toBe(same.properties);
    await store().runTables.drop(run);
  });

  it('a month in one insert shows a repeated identity once', async () => {
    const run = newRun();
    await store().runTables.create(run);
    const first = runRow(run, 1);
    const rows = [runRow(run, 2, { uuid: first.uuid }), first, runRow(run, 3)];
    await insertSegment(store(), run, '0', rows);
    await attachAll(store(), run);
    expect(await countsOf(store(), run, 'shown')).toEqual(expectedCounts(run, rows.slice(1)));
    await store().runTables.drop(run);
  });

  it('together with live rows and another run, each event is shown once', async () => {
    const project = newProject();
    const [first, second] = [newRun(project), newRun(project)];
    const cell = { keyDay: 19_783, event: 'seen' };
    const rows = Array.from({ length: 10 }, (_, n) => runRow(first, n, { ...cell, distinctId: `user-${n}` }));
    const at = (n: number): EventRow => rows[n] as EventRow;
    const live = { importRun: '', historical: false };
    await insertRows(store(), `live-${project}`, [
      { ...at(0), ...live, receivedAtMicros: start - 1, properties: '{"live":true}' },
      { ...at(1), ...live, receivedAtMicros: start + 1_000_000, properties: '{"live":true}' },
      testRow(project, cell),
    ]);
    const same = rows.slice(2, 4).map((row, n) => {
      const { keyDay, event, uuid, distinctId, properties } = row;
      return runRow(second, n - 1000, { keyDay, event, uuid, distinctId, properties: unmarked(properties, first) });
    });
    for (const [run, own] of [
      [second, same],
      [first, rows],
    ] as const) {
      await store().runTables.create(run);
      await insertSegment(store(), run, '0', own);
    }
    await attachAll(store(), second);
    for (let i = 0; i < 2; i++) await attachAll(store(), first);
    expect((await countRows(store(), project)).shown).toBe(11);
    expect(await countsOf(store(), first, 'shown')).toMatchObject([{ count: 7 }]);
    expect(await countsOf(store(), second, 'shown')).toMatchObject([{ count: 2 }]);
    for (const run of [first, second]) await store().runTables.drop(run);
  });
}
