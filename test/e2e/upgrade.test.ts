/**
 * A data directory that an earlier version has filled, killed while events waited in its log; tools/make-earlier-data.ts
 * made it. Real: the directory, and the whole program of today on it.
 */
import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import {
  earlierDataFile,
  earlierDeadLetters,
  earlierHistory,
  earlierLive,
  earlierSalt,
  earlierSecret,
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
/** However slow the machine is, no event passes the plugin by. */
const patient = { MILLRACE_SANDBOX_CPU_MS: '10000', MILLRACE_SANDBOX_WAIT_MS: '120000' };
const project = '/api/projects/@current';

it('a data directory of an earlier version is taken along with what waits in its log: nothing is lost or doubled, and it goes on', async () => {
  await using untouched = await tempDataDir();
  await using directory = await tempDataDir();
  for (const { path } of [untouched, directory]) unpack(path);
  const dataDir = join(directory.path, 'data');
  const server = await startServer(dataDir, patient, { readyMs: 120_000 });
  await untilSettled(server, { standard: live.length, historical: history.length });
  expect(schemaVersion(join(untouched.path, 'data'))).toBeLessThan(schemaVersion(dataDir));

  await expectEvents(server);
  await expectPersons(server);
  await expectDeadLetters(server);
  await expectConfigs(server);

  // What a sender, not sure of its answer, sends again after the upgrade.
  await send(server, live);
  await send(server, history, true);
  await send(server, [{ ...live[0], event: 'after', uuid: randomUUID(), timestamp: new Date().toISOString() }]);
  await untilStored(server, { standard: live.length + 1, historical: history.length });
  const ids = (await readAllEvents(server)).filter(({ event }) => event !== 'after').map(({ id }) => id);
  expect(ids.sort()).toEqual([...live, ...history].map(({ uuid }) => uuid).sort());
  expect((await server.terminate()).code).toBe(0);
});

function unpack(directory: string): void {
  execFileSync('tar', ['-xzf', fileURLToPath(earlierDataFile), '-C', directory]);
}

function schemaVersion(dataDir: string): number {
  using database = new DatabaseSync(join(dataDir, 'metadata.sqlite'));
  return Number(database.prepare('SELECT max(version) AS version FROM schema_version').get()?.['version']);
}

/** Each of them once, as it was sent; the plugin has counted on where it was, and the salt of the other is the same. */
async function expectEvents(server: TestServer): Promise<void> {
  const stored = await readAllEvents(server);
  const told = stored.map(({ id, event, distinct_id, timestamp, historical_migration, properties }) => ({
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
  expect(byId(told)).toEqual(byId([...sent(live, false), ...sent(history, true)]));
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

async function send(server: TestServer, events: readonly object[], historical_migration = false): Promise<void> {
  const body = JSON.stringify({ api_key: projectKey, batch: events, historical_migration });
  const answer = await fetch(`${server.url}/batch/`, { method: 'POST', body });
  expect([answer.status, await answer.json()]).toEqual([200, { status: 'Ok' }]);
}
