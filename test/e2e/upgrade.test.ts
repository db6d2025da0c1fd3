/**
 * A data directory that an earlier version has filled, killed while events waited in its log; built by tools/make-earlier-data.ts.
 * Real: the directory, and the whole program of today on it.
 */
import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { openSqlite } from '../../src/stores/metadata/sqlite.ts';
import { migrations as ofEvents } from '../../src/stores/events/migrate-store.ts';
import { migrate, migrations, type Migration } from '../../src/stores/metadata/migrate.ts';
import {
  earlierDataFile,
  earlierDeadLetters,
  earlierHistory,
  earlierImported,
  earlierImportProject,
  earlierLive,
  earlierSalt,
  earlierSchedule,
  earlierSecret,
  earlierUser,
  earlierWaiting,
  earlierWaitingHistory,
  type EarlierEvent,
} from '../support/earlier-data.ts';
import { readAllEvents } from '../support/ledger.ts';
import {
  apiGet,
  projectKey,
  startServer,
  tempDataDir,
  untilSettled,
  untilStored,
  type TestServer,
} from '../support/server.ts';

const live = [...earlierLive, ...earlierWaiting];
const history = [...earlierHistory, ...earlierWaitingHistory];
/** However slow the machine is, the plugin sees every event. */
const patient = { MILLRACE_SANDBOX_CPU_MS: '10000', MILLRACE_SANDBOX_WAIT_MS: '120000' };
const project = '/api/projects/@current';

it('a data directory of an earlier version is upgraded with the events that wait in its log: nothing is lost or doubled', async () => {
  await using directory = await tempDataDir();
  unpack(directory.path);
  const dataDir = join(directory.path, 'data');
  const server = await startServer(dataDir, patient, { readyMs: 120_000 });
  await untilSettled(server, { standard: live.length, historical: history.length });

  await expectEvents(server);
  await expectPersons(server);
  await expectDeadLetters(server);
  await expectConfigs(server);
  await expectUser(server);
  await expectRun(server);

  // A sender that received no answer retries after the upgrade.
  await send(server, live);
  await send(server, history, true);
  await send(server, [{ ...live[0], event: 'after', uuid: randomUUID(), timestamp: new Date().toISOString() }]);
  await untilStored(server, { standard: live.length + 1, historical: history.length });
  const ids = (await readAllEvents(server)).filter(({ event }) => event !== 'after').map(({ id }) => id);
  expect(ids.sort()).toEqual([...live, ...history].map(({ uuid }) => uuid).sort());
  expect((await server.terminate()).code).toBe(0);
});

it('starts again on stores that a newer version has expanded, and stores what waits and what arrives', async () => {
  await using directory = await tempDataDir();
  unpack(directory.path);
  const dataDir = join(directory.path, 'data');
  await expandStores(dataDir);
  const server = await startServer(dataDir, patient, { readyMs: 120_000 });
  const now = new Date().toISOString();
  await send(server, [{ ...live[0], event: 'after', uuid: randomUUID(), timestamp: now, properties: {} }]);
  await untilSettled(server, { standard: live.length + 1, historical: history.length });
  await expectPersons(server);
  expect((await server.terminate()).code).toBe(0);
});

/** Does what a later version would do: it adds to tables that are read and written. */
async function expandStores(dataDir: string): Promise<void> {
  await using db = openSqlite(join(dataDir, 'metadata.sqlite'));
  const later: Migration = {
    name: 'later',
    since: '0.2.0',
    kind: 'expand',
    up: async ({ schema }) => {
      for (const table of ['persons', 'log_cursors', 'projects', 'slots']) {
        await schema.alterTable(table).addColumn('later', 'text').execute();
      }
    },
  };
  await migrate(db, 'sqlite', [...migrations, later]);
  const { Session } = await import('chdb');
  const session = new Session(join(dataDir, 'events'));
  for (const sql of [
    "ALTER TABLE millrace.events ADD COLUMN later String DEFAULT 'ü'",
    'ALTER TABLE millrace.schema_version ADD COLUMN IF NOT EXISTS usable_from UInt32',
    `INSERT INTO millrace.schema_version (version, name, usable_from) SELECT ${ofEvents.length + 1}, 'later', ${ofEvents.length}`,
  ]) {
    await session.queryAsync(sql);
  }
  session.close();
}

function unpack(directory: string): void {
  execFileSync('tar', ['-xzf', fileURLToPath(earlierDataFile), '-C', directory]);
}

it('a store that an earlier version created has the schema that this version creates', async () => {
  await using directory = await tempDataDir();
  unpack(directory.path);
  const earlier = join(directory.path, 'data/metadata.sqlite');
  const created = join(directory.path, 'created.sqlite');
  for (const file of [earlier, created]) {
    const db = openSqlite(file);
    await migrate(db, 'sqlite');
    await db.destroy();
  }
  const schema = schemaOf(earlier);
  expect(schema.length).toBeGreaterThan(40);
  expect(schema).toEqual(schemaOf(created));
});

/** Columns, constraints and indexes of each table; the order of columns does not count. */
function schemaOf(file: string): object[] {
  using database = new DatabaseSync(file, { readOnly: true });
  const rows = (sql: string, ...values: string[]) => database.prepare(sql).all(...values);
  const tables = rows(
    "select name, sql from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name",
  );
  return tables.map(({ name, sql }) => {
    const table = String(name);
    const indexes = rows('select name, "unique", origin, partial from pragma_index_list(?) order by name', table);
    return {
      table,
      columns: rows('select name, type, "notnull", dflt_value, pk from pragma_table_xinfo(?) order by name', table),
      references: rows(
        'select "from", "table", "to", on_delete from pragma_foreign_key_list(?) order by "from"',
        table,
      ),
      constraints: [...String(sql).matchAll(/constraint "\w+"|autoincrement/gi)].map(([found]) => found).toSorted(),
      indexes: indexes.map((index) => ({
        index,
        columns: rows('select name from pragma_index_info(?) order by seqno', String(index['name'])),
        sql: rows('select sql from sqlite_schema where name = ?', String(index['name'])),
      })),
    };
  });
}

/** Each is stored once, as it was sent; the plugin resumed its count, and the salt of the other is the same. */
async function expectEvents(server: TestServer): Promise<void> {
  const stored = await readAllEvents(server);
  const seen = stored.map(({ id, event, distinct_id, timestamp, historical_migration, properties }) => ({
    id,
    event,
    distinct_id,
    at: Date.parse(timestamp),
    historical_migration,
    n: properties['n'],
    email: properties['email'],
  }));
  const sent = (events: readonly EarlierEvent[], historical_migration: boolean) =>
    events.map(({ uuid, event, distinct_id, timestamp, properties: { n, email } }) => ({
      id: uuid,
      event,
      distinct_id,
      at: Date.parse(timestamp),
      historical_migration,
      n,
      email: createHash('sha256')
        .update(`${String(email)}${earlierSalt}`)
        .digest('hex'),
    }));
  expect(byId(seen)).toEqual(byId([...sent(live, false), ...sent(history, true)]));
  const counts = stored.map(({ properties }) => Number(properties['count'])).sort((a, b) => a - b);
  expect(counts).toEqual(stored.map((_, index) => index + 1));
}

function byId<T extends { readonly id: string }>(rows: readonly T[]): T[] {
  return rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

interface PersonView {
  readonly distinct_ids: readonly string[];
  readonly properties: Readonly<Record<string, unknown>>;
}

async function expectPersons(server: TestServer): Promise<void> {
  const { results } = await apiGet<{ results: PersonView[] }>(server, `${project}/persons/?limit=100`);
  const seen = results.map(({ distinct_ids, properties }) => [distinct_ids.toSorted(), properties] as const);
  expect(Object.fromEntries(seen.map(([ids, properties]) => [ids.join(), properties]))).toMatchObject({
    'device-0,person-0': { first: 125, last: 30, plan: 'pro' },
    'person-1': { first: 126, last: 31 },
    'person-2': { first: 127, last: 32 },
    'person-3': { first: 128, last: 33 },
    'person-4': { first: 129, last: 219 },
  });
  expect(results).toHaveLength(5);
  const groups = `${project}/groups/?group_type_index=0`;
  expect(await apiGet(server, groups)).toMatchObject({
    results: [{ group_key: 'acme', group_properties: { seats: 7 } }],
  });
}

async function expectDeadLetters(server: TestServer): Promise<void> {
  const { results } = await apiGet<{ results: { id: string }[] }>(server, `${project}/dead_letters/`);
  const letters = await Promise.all(
    results.map(({ id }) => apiGet<{ original: string; reason: string }>(server, `${project}/dead_letters/${id}/`)),
  );
  expect(letters.map(({ original }) => original).sort()).toEqual(earlierDeadLetters.toSorted());
  expect(letters.map(({ reason }) => reason).sort()).toEqual(['missing_distinct_id', 'missing_event_name']);
}

interface ConfigView {
  readonly id: number;
  readonly enabled: boolean;
}

async function expectConfigs(server: TestServer): Promise<void> {
  const list = async (family: string): Promise<ConfigView[]> =>
    (await apiGet<{ results: ConfigView[] }>(server, `${project}/${family}/`)).results;
  expect((await list('pipeline_transformation_configs')).map(({ enabled }) => enabled)).toEqual([true, true]);
  const imports = await list('pipeline_import_apps_configs');
  expect(imports.map(({ enabled }) => enabled)).toEqual([false]);
  const settings = await apiGet(server, `${project}/pipeline_import_apps_configs/${imports[0]?.id}/settings/`);
  expect(JSON.stringify(settings)).toContain('import.mp-service-account');
  expect(JSON.stringify(settings)).not.toContain(earlierSecret);
}

async function expectUser(server: TestServer): Promise<void> {
  const users = await apiGet<object[]>(server, '/api/users/');
  expect(users).toContainEqual(expect.objectContaining(earlierUser));
}

/** Its run can still be undone, and its schedule is as it was set. */
async function expectRun(server: TestServer): Promise<void> {
  const { results: projects } = await apiGet<{ results: { id: number; name: string }[] }>(server, '/api/projects/');
  const imported = projects.find(({ name }) => name === earlierImportProject);
  const base = `/api/projects/${imported?.id}`;
  const runs = await apiGet<{ results: object[] }>(server, `${base}/import_runs/`);
  expect(runs.results).toMatchObject([{ state: 'completed', totals: { records: earlierImported.length } }]);
  const { results } = await apiGet<{ results: { id: string }[] }>(server, `${base}/events/?limit=100`);
  expect(results.map(({ id }) => id).toSorted()).toEqual(earlierImported.map(({ uuid }) => uuid).toSorted());
  const schedules = await apiGet<{ results: object[] }>(server, `${project}/import_schedules/`);
  const { every_minutes, overlap_minutes, paused } = earlierSchedule;
  expect(schedules.results).toMatchObject([{ every_minutes, overlap_minutes, paused }]);
}

async function send(server: TestServer, events: readonly object[], historical_migration = false): Promise<void> {
  const body = JSON.stringify({ api_key: projectKey, batch: events, historical_migration });
  const answer = await fetch(`${server.url}/batch/`, { method: 'POST', body });
  expect([answer.status, await answer.json()]).toEqual([200, { status: 'Ok' }]);
}
