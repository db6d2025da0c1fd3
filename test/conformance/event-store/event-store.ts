import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventStore } from '../../../src/stores/events/eventstore.ts';
import { StoreUnavailableError } from '../../../src/stores/events/eventstore.ts';
import { EventRowWriter, type EventRow } from '../../../src/stores/events/rows.ts';
import { migrations } from '../../../src/stores/events/migrate-store.ts';

/** The promises of every event store adapter. Each test has a separate project in one store. */
export interface StoreUnderTest {
  readonly store: EventStore;
  close(): Promise<void>;
}

export const dayMicros = 86_400_000_000;
const someDay = 20_000;
/** Random, because a server may have rows of earlier runs. */
let lastProject = Math.floor(Math.random() * 1_000_000_000);

/** Returns a project that no other test of this file uses. */
export function newProject(): number {
  return ++lastProject;
}

export function testRow(projectId: number, more: Partial<EventRow> = {}): EventRow {
  return {
    projectId,
    historical: false,
    receivedAtMicros: 1_750_000_000_000_000,
    timestampMicros: (more.keyDay ?? someDay) * dayMicros,
    keyDay: someDay,
    uuid: randomUUID(),
    event: '$pageview',
    distinctId: 'user-1',
    properties: '{}',
    ...more,
  };
}

export async function insertRows(store: EventStore, token: string, rows: readonly EventRow[]): Promise<void> {
  const writer = new EventRowWriter();
  for (const row of rows) writer.write(row);
  await store.insertBatch(writer.take(), token);
}

/** Counts stored rows (`all`) and those that reads return (`shown`). */
export async function countRows(store: EventStore, project: number): Promise<{ all: number; shown: number }> {
  const count = async (final: string): Promise<number> => {
    const sql = `SELECT count() AS c FROM events ${final} WHERE project_id = {project:Int32}`;
    const [row] = await store.query<{ c: string }>(sql, { project });
    return Number(row?.c);
  };
  return { all: await count(''), shown: await count('FINAL') };
}

/** Returns one row per month for `months` months from `first`, a day number. */
function monthlyRows(project: number, months: number, first: number): EventRow[] {
  return Array.from({ length: months }, (_, i) => testRow(project, { keyDay: first + i * 31 }));
}

const hostile = [
  '\n\nTRUNCATE TABLE events',
  '\n\n;DROP TABLE events;\n\n',
  `'; TRUNCATE TABLE events; --`,
  "tab\tquote'double\"back\\slash\\' tick`",
  'nul\u0000byte',
  '😀 𝒳 ümläut 中文 \u2028\u2029',
  '{event:String} {{x}} %s $1 :a ?',
  '__proto__',
  'x'.repeat(70_000),
];

export function eventStoreConformance(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`event store conformance: ${name}`, () => {
    let under: StoreUnderTest;
    let store: EventStore;
    beforeAll(async () => {
      under = await open();
      store = under.store;
    });
    afterAll(async () => under.close());

    insertTests(() => store);
    identityTests(() => store);
    queryTests(() => store);
  });
  describe(`event store conformance, deletes: ${name}`, () => {
    let under: StoreUnderTest;
    beforeAll(async () => {
      under = await open();
    });
    afterAll(async () => under.close());
    deleteTests(() => under.store);
  });
}

/** To be called after the other suites: it leaves hundreds of parts, each of which every later delete of a shared database processes. */
export function monthsConformance(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`event store conformance, months: ${name}`, () => {
    let under: StoreUnderTest;
    beforeAll(async () => {
      under = await open();
    });
    afterAll(async () => under.close());
    monthTests(() => under.store);
  });
}

function insertTests(store: () => EventStore): void {
  it('stores hostile texts byte for byte in every field and runs none of them', async () => {
    const project = newProject();
    const canary = newProject();
    await insertRows(store(), `canary-${canary}`, [testRow(canary)]);
    const rows = hostile.map((text) =>
      testRow(project, { event: text, distinctId: text, properties: JSON.stringify({ [text]: text }) }),
    );
    await insertRows(store(), `hostile-${project}`, rows);
    const stored = await store().query<{ u: string; event: string; distinct_id: string; properties: string }>(
      'SELECT toString(uuid) AS u, event, distinct_id, properties FROM events WHERE project_id = {project:Int32}',
      { project },
    );
    const expected = rows.map(({ uuid: u, event, distinctId, properties }) => ({
      u,
      event,
      distinct_id: distinctId,
      properties,
    }));
    const byUuid = (a: { u: string }, b: { u: string }): number => (a.u < b.u ? -1 : 1);
    expect(stored.toSorted(byUuid)).toEqual(expected.toSorted(byUuid));
    expect(await countRows(store(), canary)).toEqual({ all: 1, shown: 1 });
  });

  it('stores numbers exactly: times from 1900 to 2299, days, project, both kinds', async () => {
    const project = newProject();
    const days = [-25_567, -1, 0, 20_000, 84_000, 120_529];
    const rows = days.map((keyDay, i) =>
      testRow(project, { keyDay, timestampMicros: keyDay * dayMicros + 2 * i, historical: i % 2 === 1 }),
    );
    rows.push(testRow(project, { keyDay: -999_999, timestampMicros: 5 }));
    rows.push(testRow(project, { keyDay: 999_999, timestampMicros: 6 }));
    await insertRows(store(), `numbers-${project}`, rows);
    const stored = await store().query<{ d: number; m: string; h: boolean }>(
      `SELECT toInt32(day) AS d, toUnixTimestamp64Micro(timestamp) AS m, historical_migration AS h
FROM events WHERE project_id = {project:Int32} ORDER BY timestamp, day`,
      { project },
    );
    const ordered = rows.toSorted((a, b) => a.timestampMicros - b.timestampMicros || a.keyDay - b.keyDay);
    const expected = ordered.map((row) => ({
      d: Math.max(-25_567, Math.min(120_529, row.keyDay)),
      m: String(row.timestampMicros),
      h: row.historical,
    }));
    expect(stored).toEqual(expected);
  });

  it('accepts 100,000 rows in one batch', async () => {
    const project = newProject();
    const rows = Array.from({ length: 100_000 }, (_, i) => testRow(project, { distinctId: `user-${i % 1000}` }));
    await insertRows(store(), `big-${project}`, rows);
    expect(await countRows(store(), project)).toEqual({ all: 100_000, shown: 100_000 });
  });

  it('stores a batch once if it is inserted repeatedly with its token', async () => {
    const project = newProject();
    const rows = monthlyRows(project, 12, 15_000);
    for (let i = 0; i < 3; i++) await insertRows(store(), `again-${project}`, rows);
    expect(await countRows(store(), project)).toEqual({ all: 12, shown: 12 });
  });

  it('ignores an empty batch', async () => {
    await expect(store().insertBatch(new EventRowWriter().take(), 'empty')).resolves.toBeUndefined();
  });

  it.each(['', 'a b', "a'b", 'a\nb', 'é', 'x'.repeat(201)])('refuses the token %.20s', async (token) => {
    await expect(insertRows(store(), token, [testRow(newProject())])).rejects.toThrow(/expected an insert token/);
  });

  it('reports broken rows as a fault of the data, not of the store, and keeps working', async () => {
    const project = newProject();
    const writer = new EventRowWriter();
    writer.write(testRow(project));
    const bytes = Buffer.concat(writer.take().chunks);
    const failure = await store()
      .insertBatch({ chunks: [bytes.subarray(0, bytes.length - 1)], rows: 1 }, `broken-${project}`)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
    expect(failure).not.toBeInstanceOf(StoreUnavailableError);
    await insertRows(store(), `whole-${project}`, [testRow(project)]);
    expect(await countRows(store(), project)).toEqual({ all: 1, shown: 1 });
  });
}

function monthTests(store: () => EventStore): void {
  it('accepts a batch over more months than the default of the engine (100)', async () => {
    const months = 120;
    const project = newProject();
    await insertRows(store(), `months-${project}`, monthlyRows(project, months, 10_000));
    expect(await countRows(store(), project)).toEqual({ all: months, shown: months });
  });

  it('completes a partly written batch: the missing months are added, nothing twice', async () => {
    const project = newProject();
    const rows = monthlyRows(project, 36, 15_000).flatMap((row) => [row, { ...row, uuid: randomUUID() }]);
    await insertRows(store(), `part-${project}`, rows.slice(0, 30));
    expect(await countRows(store(), project)).toEqual({ all: 30, shown: 30 });
    await insertRows(store(), `part-${project}`, rows);
    expect(await countRows(store(), project)).toEqual({ all: 72, shown: 72 });
  });
}

function identityTests(store: () => EventStore): void {
  const shown = async (project: number): Promise<{ properties: string }[]> =>
    await store().query('SELECT properties FROM events FINAL WHERE project_id = {project:Int32}', { project });

  it.each([
    ['in order of receipt', [1, 2, 3]],
    ['in another order', [3, 1, 2]],
    ['backwards', [3, 2, 1]],
  ])('keeps the first received of equal identities, inserted %s', async (_, order) => {
    const project = newProject();
    const same = testRow(project);
    for (const n of order) {
      const row = { ...same, receivedAtMicros: 1_750_000_000_000_000 + n, properties: `{"n":${n}}` };
      await insertRows(store(), `first-${project}-${n}`, [row]);
    }
    expect(await shown(project)).toEqual([{ properties: '{"n":1}' }]);
  });

  it('keeps the first received of equal identities in one batch', async () => {
    const project = newProject();
    const { uuid } = testRow(project);
    const rows = [2, 1, 3].map((n) =>
      testRow(project, { uuid, receivedAtMicros: 1_750_000_000_000_000 + n, properties: `{"n":${n}}` }),
    );
    await insertRows(store(), `one-${project}`, rows);
    expect(await shown(project)).toEqual([{ properties: '{"n":1}' }]);
  });

  it('the identity consists of project, day, event, distinct_id and uuid, without the corrected time', async () => {
    const project = newProject();
    const same = testRow(project);
    const others = [
      { ...same, timestampMicros: same.timestampMicros + 40 * dayMicros, receivedAtMicros: same.receivedAtMicros + 1 },
      { ...same, keyDay: same.keyDay + 1 },
      { ...same, event: 'other' },
      { ...same, distinctId: 'other' },
      { ...same, uuid: randomUUID() },
    ];
    for (const [i, row] of [same, ...others].entries()) await insertRows(store(), `identity-${project}-${i}`, [row]);
    // A merge may already have happened, so only what reads return is certain.
    expect((await countRows(store(), project)).shown).toBe(5);
  });
}

function deleteTests(store: () => EventStore): void {
  const marked = (runId: string) => ({ properties: JSON.stringify({ a: 1, $import_run_id: runId }) });
  const shown = async (project: number): Promise<string[]> => {
    const sql = 'SELECT properties FROM events FINAL WHERE project_id = {project:Int32} ORDER BY properties';
    return (await store().query<{ properties: string }>(sql, { project })).map(({ properties }) => properties);
  };
  const day = (text: string): number => Date.parse(text) / 86_400_000;

  it('deletes only the rows of a run, of the given days, in its project', async () => {
    const [project, other] = [newProject(), newProject()];
    const march = { keyDay: day('2024-03-31') };
    const april = { keyDay: day('2024-04-01') };
    await insertRows(store(), `delete-${project}`, [
      testRow(project, { ...march, ...marked('run-1') }),
      testRow(project, { ...march, properties: '{"beyond":1e400,"$import_run_id":"run-1"}' }),
      testRow(project, { ...march, ...marked('run-10') }),
      testRow(project, { ...march, properties: '{"told":"run-1"}' }),
      testRow(project, { ...april, ...marked('run-1') }),
      testRow(other, { ...march, ...marked('run-1') }),
    ]);
    const rows = { projectId: project, runId: 'run-1', from: '2024-03-01', to: '2024-03-31' };
    await store().deleteRun(rows);
    await store().deleteRun(rows);
    expect(await shown(project)).toEqual([marked('run-1').properties, marked('run-10').properties, '{"told":"run-1"}']);
    expect(await countRows(store(), other)).toEqual({ all: 1, shown: 1 });
    await store().deleteRun({ ...rows, from: '2024-04-01', to: '2024-05-01' });
    expect(await shown(project)).toEqual([marked('run-10').properties, '{"told":"run-1"}']);
  });

  it('shows an event that was also stored by another source once the row of the run is deleted', async () => {
    const project = newProject();
    const same = testRow(project, { keyDay: day('2024-03-05') });
    const later = { ...same, receivedAtMicros: same.receivedAtMicros + 1, properties: '{"live":true}' };
    // In one batch, so that no merge separates them.
    await insertRows(store(), `both-${project}`, [{ ...same, ...marked('run-1') }, later]);
    expect(await shown(project)).toEqual([marked('run-1').properties]);
    await store().deleteRun({ projectId: project, runId: 'run-1', from: '2024-03-05', to: '2024-03-05' });
    expect(await shown(project)).toEqual(['{"live":true}']);
  });

  it('stores deleted rows again with a separate token', async () => {
    const project = newProject();
    const row = testRow(project, { keyDay: day('2024-03-05'), ...marked('run-1') });
    await insertRows(store(), `gone-${project}`, [row]);
    await store().deleteRun({ projectId: project, runId: 'run-1', from: '2024-03-05', to: '2024-03-05' });
    expect(await shown(project)).toEqual([]);
    await insertRows(store(), `again-${project}`, [row]);
    expect(await shown(project)).toEqual([row.properties]);
  });

  it.each(["run'1", '', 'x'.repeat(101), 'run 1', '1=1'])('refuses the run %.20s', async (runId) => {
    const deletion = async () =>
      await store().deleteRun({ projectId: newProject(), runId, from: '2024-03-05', to: '2024-03-05' });
    await expect(deletion()).rejects.toThrow(/expected a project, the id of a run and two days/);
  });
}

function queryTests(store: () => EventStore): void {
  it('binds hostile parameters as values', async () => {
    for (const text of [...hostile, "1' OR '1'='1", '']) {
      const answer = await store().query('SELECT {s:String} AS s, {a:Array(String)} AS a', {
        s: text,
        a: [text, '', text],
      });
      expect(answer).toEqual([{ s: text, a: [text, '', text] }]);
    }
  });

  it('binds lists and texts of a megabyte, beyond the limit of a form field', async () => {
    const ids = Array.from({ length: 5000 }, (_, i) => `${i}-'\\"\t\0鞋👟-${'ü'.repeat(100)}`);
    const counts = [...ids.keys()];
    const sql = `SELECT length({ids:Array(String)}) AS ids, {last:String} IN {ids:Array(String)} AS found,
  arraySum({counts:Array(Int64)}) AS sum, {text:String} = arrayStringConcat({ids:Array(String)}) AS same`;
    const params = { ids, last: ids.at(-1) ?? '', counts, text: ids.join('') };
    expect(await store().query(sql, params)).toEqual([{ ids: '5000', found: 1, sum: '12497500', same: 1 }]);
  });

  it('binds every kind of parameter and returns 64-bit integers as strings', async () => {
    const params = { i: 7, big: 9_223_372_036_854_775_807n, neg: -5n, yes: true, no: false, list: [1, 2], none: [] };
    const sql = `SELECT {i:Int32} AS i, {big:Int64} AS big, {neg:Int64} AS neg, {yes:Bool} AS yes, {no:Bool} AS no,
  {list:Array(Int32)} AS list, {none:Array(String)} AS none, toUInt64(1) AS one`;
    expect(await store().query(sql, params)).toEqual([
      { i: 7, big: '9223372036854775807', neg: '-5', yes: true, no: false, list: [1, 2], none: [], one: '1' },
    ]);
  });

  it('returns an empty list for no rows and rejects what the engine refuses', async () => {
    expect(await store().query('SELECT 1 AS one WHERE {n:Int32} = 2', { n: 1 })).toEqual([]);
    const failure = await store()
      .query('SELECT no_such_column FROM events')
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
    expect(failure).not.toBeInstanceOf(StoreUnavailableError);
    await expect(store().query('SELECT {missing:String}')).rejects.toThrow(/missing/);
  });

  it.each([
    'TRUNCATE TABLE events',
    'DROP TABLE events',
    'ALTER TABLE events DELETE WHERE 1',
    "INSERT INTO schema_version (version, name) SELECT 9, 'x'",
    'CREATE TABLE other (a Int8) ENGINE = Memory',
    'SET readonly = 0',
  ])('a query cannot write: %s', async (sql) => {
    await expect(store().query(sql)).rejects.toThrow(/(refused|denied) a query/);
    expect(await store().query("SELECT count() AS c FROM system.tables WHERE name = 'other'")).toEqual([{ c: '0' }]);
    expect(await store().query('SELECT max(version) AS v FROM schema_version')).toEqual([{ v: migrations.length }]);
    const [row] = await store().query<{ c: string }>('SELECT count() AS c FROM events');
    expect(Number(row?.c)).toBeGreaterThan(0);
  });

  it('concurrent queries do not mix their parameters', async () => {
    const numbers = Array.from({ length: 60 }, (_, i) => i);
    const answers = await Promise.all(
      numbers.map(async (n) => await store().query('SELECT {n:Int32} AS n, {s:String} AS s', { n, s: `s${n}` })),
    );
    expect(answers).toEqual(numbers.map((n) => [{ n, s: `s${n}` }]));
  });

  it('reports that it is healthy', async () => {
    expect(await store().health()).toEqual({ ok: true, detail: '' });
  });
}
