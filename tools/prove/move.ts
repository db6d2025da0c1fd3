/**
 * Proves a move: `node tools/with-postgres.ts -- npm run prove -- move [events] [kills] [outages]`; with real ClickHouse servers
 * `node tools/with-clickhouse.ts -- node tools/with-postgres.ts -- npm run prove -- move 1000000 10 kill`.
 *
 * A service takes events, live and historical, with persons and groups, and is ended by kill -9 while some wait in its log. `millrace
 * move` takes its directory to PostgreSQL and ClickHouse and is killed at random moments. Then events, persons and groups of both
 * sides are compared (with outages each ClickHouse replica in turn is stopped in the meantime), a service is started on the new stores, the last events are sent again, and new ones.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { replicaAccess, replicaDifferences } from '../../test/support/clickhouse-replicas.ts';
import { ClickhouseStandIn, standInCluster } from '../../test/support/clickhouse-stand-in.ts';
import { readOutages, runOutages } from './replica-outages.ts';

const program = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));
const keys = { project: 'phc_proveMoveProjectKey01234', personal: 'phx_proveMovePersonalKey0123' };
const [eventsText = '1000000', killsText = '10', outagesText = ''] = process.argv.slice(2);
const outages = readOutages(outagesText);
const access = replicaAccess();
const [events, kills] = [Number(eventsText), Number(killsText)];
const perBatch = 1000;
const started = performance.now();
const databaseUrl = process.env['DATABASE_URL'] ?? '';
if (databaseUrl === '') throw new Error('expected DATABASE_URL, got none; run this by tools/with-postgres.ts');

type Env = Readonly<Record<string, string>>;

function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}

const children: ChildProcess[] = [];

function run(args: readonly string[], env: Env, stdout: 'pipe' | 'inherit' = 'inherit'): ChildProcess {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env['PATH'], MILLRACE_LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', stdout, 'inherit'],
  });
  children.push(child);
  return child;
}

interface Service {
  readonly url: string;
  readonly child: ChildProcess;
}

async function serve(env: Env): Promise<Service> {
  const port = 21_000 + Math.floor(Math.random() * 2000);
  const child = run(['serve'], {
    MILLRACE_PORT: String(port),
    MILLRACE_BOOTSTRAP_PROJECT_API_KEY: keys.project,
    MILLRACE_BOOTSTRAP_PERSONAL_API_KEY: keys.personal,
    MILLRACE_API_RATE_LIMIT: 'off',
    ...env,
  });
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 600; tries++) {
    if (child.exitCode !== null) throw new Error(`expected the service to start, it ended with code ${child.exitCode}`);
    const ready = await fetch(`${url}/readyz`).catch(() => undefined);
    if (ready?.ok === true) return { url, child };
    await delay(100);
  }
  throw new Error('expected the service to be ready within 60 s');
}

async function end({ child }: Service, signal: NodeJS.Signals): Promise<void> {
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}

/** Event number n of the history: always the same. */
function eventOf(n: number): object {
  const id = `user-${n % 20_011}`;
  const time = Date.UTC(2024, 0, 1) + (Math.floor(n / 1500) % 700) * 86_400_000 + (n % 86_399) * 1000;
  const properties = { n, $set: { last: n % 997 }, $groups: { company: `c-${n % 300}` } };
  const hex = n.toString(16).padStart(12, '0');
  const isGroup = n % 1000 === 7;
  return {
    uuid: `01900000-0000-7000-8000-${hex}`,
    event: isGroup ? '$groupidentify' : `event ${n % 40}`,
    distinct_id: id,
    timestamp: new Date(time).toISOString(),
    properties: isGroup ? { $group_type: 'company', $group_key: `c-${n % 300}`, $group_set: { size: n } } : properties,
  };
}

async function send({ url }: Service, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += perBatch) {
    const batch = Array.from({ length: Math.min(perBatch, to - at) }, (_, i) => eventOf(at + i));
    const body = JSON.stringify({ api_key: keys.project, historical_migration: (at / perBatch) % 3 === 0, batch });
    for (;;) {
      const response = await fetch(`${url}/batch/`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      });
      await response.arrayBuffer();
      if (response.ok) break;
      if (response.status !== 503 && response.status !== 429) throw new Error(`expected 200, got ${response.status}`);
      await delay(200);
    }
  }
}

async function api(service: Service, path: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${service.url}/api/projects/@current/${path}`, {
    headers: { authorization: `Bearer ${keys.personal}` },
  });
  if (!response.ok) throw new Error(`expected 200 from ${path}, got ${response.status}: ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}

async function waiting({ url }: Service): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return [...text.matchAll(/^millrace_buffer_events\{[^}]*\} (\d+)/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
}

async function settled(service: Service): Promise<void> {
  while ((await waiting(service)) > 0) await delay(200);
  await delay(500);
}

/** The exact number of stored events. */
async function counted(service: Service): Promise<number> {
  const { total } = (await api(service, 'usage')) as { total: { standard: number; historical: number } };
  return total.standard + total.historical;
}

async function personOf(service: Service, id: string): Promise<unknown> {
  return await api(service, `persons?distinct_id=${id}`);
}

async function main(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-prove-move-'));
  const standIn = process.env['CLICKHOUSE_URL'] === undefined ? new ClickhouseStandIn({ shards: 2 }) : undefined;
  if (standIn !== undefined) say('no CLICKHOUSE_URL: a stand-in over chDB, two shards, nothing replicates');
  const store =
    standIn === undefined
      ? {
          CLICKHOUSE_URL: process.env['CLICKHOUSE_URL'] ?? '',
          MILLRACE_CLICKHOUSE_CLUSTER: process.env['MILLRACE_CLICKHOUSE_CLUSTER'] ?? '',
          MILLRACE_CLICKHOUSE_REPLICAS: process.env['MILLRACE_CLICKHOUSE_REPLICAS'] ?? '',
        }
      : {
          CLICKHOUSE_URL: await standIn.listen(),
          MILLRACE_CLICKHOUSE_CLUSTER: standInCluster,
          MILLRACE_CLICKHOUSE_REPLICAS: standIn.replicas,
        };
  try {
    await prove(dir, store);
  } finally {
    // Ended processes are removed from the list; one that remains after an error would prevent this process from ending.
    for (const child of children) child.kill('SIGKILL');
    await standIn?.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function prove(dir: string, store: Readonly<Record<string, string>>): Promise<void> {
  const dataDir = join(dir, 'machine');
  const machine = await serve({ MILLRACE_DATA_DIR: dataDir });
  const late = Math.min(events / 10, 50_000);
  await send(machine, 0, events - late);
  await settled(machine);
  const ids = [3, 77, Math.min(20_000, events - late - 1)].map((n) => `user-${n}`);
  const persons = await Promise.all(ids.map((id) => personOf(machine, id)));
  await send(machine, events - late, events);
  const left = await waiting(machine);
  await end(machine, 'SIGKILL');
  say(`${events} events taken, the service ended by kill -9 with ${left} of them waiting in its log`);

  const args = [
    'move',
    '--json',
    '--to-database-url',
    databaseUrl,
    '--to-clickhouse-url',
    store['CLICKHOUSE_URL'] ?? '',
    '--to-clickhouse-cluster',
    store['MILLRACE_CLICKHOUSE_CLUSTER'] ?? '',
    '--to-clickhouse-replicas',
    store['MILLRACE_CLICKHOUSE_REPLICAS'] ?? '',
  ];
  const [{ killed, report }] = await Promise.all([
    moveWithKills(args, dataDir),
    runOutages(outages, { access, progress: async () => undefined, say }),
  ]);
  say(
    `moved after ${killed} kills: ${report.rows} rows of ${Object.keys(report.tables).length} tables, ${report.events} events`,
  );
  if (report.events !== events) throw new Error(`expected ${events} events to be moved, got ${report.events}`);

  const refused = run(['serve'], { MILLRACE_DATA_DIR: dataDir, MILLRACE_PORT: '0' });
  const [code] = (await once(refused, 'exit')) as [number | null];
  if (code === 0) throw new Error('expected no service on the directory that was moved');
  const cluster = await serve({ MILLRACE_DATA_DIR: join(dir, 'new'), DATABASE_URL: databaseUrl, ...store });
  const there = await counted(cluster);
  say(`usage of the new stores: ${there} events`);
  await send(cluster, events - late, events + 10_000);
  await settled(cluster);
  const after = await counted(cluster);
  say(`the last ${late} sent again and 10000 new ones: ${after} events`);
  if (there !== events || after !== events + 10_000)
    throw new Error(`expected ${events} and ${events + 10_000} events`);
  const moved = await Promise.all(ids.map((id) => personOf(cluster, id)));
  for (const [at, person] of persons.entries()) compareUuids(person, moved[at]);
  await end(cluster, 'SIGTERM');
  const differences = await replicaDifferences(access);
  if (differences.length > 0) throw new Error(differences.join('\n'));
  say('nothing lost, nothing doubled; the persons are the same');
}

function compareUuids(a: unknown, b: unknown): void {
  const uuidOf = (answer: unknown): unknown =>
    (answer as { results?: readonly { uuid?: string }[] }).results?.[0]?.uuid;
  if (uuidOf(a) === undefined || uuidOf(a) !== uuidOf(b))
    throw new Error(`expected the person ${uuidOf(a)}, got ${uuidOf(b)}`);
}

interface Report {
  readonly rows: number;
  readonly events: number;
  readonly tables: object;
}

async function moveWithKills(args: readonly string[], dataDir: string): Promise<{ killed: number; report: Report }> {
  let killed = 0;
  for (;;) {
    const child = run(args, { MILLRACE_DATA_DIR: dataDir }, 'pipe');
    let out = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
    const gone = once(child, 'close') as Promise<[number | null]>;
    // Longer each time, so that kills fall on all of the way.
    const lives = 1500 + Math.random() * 3000 * (killed + 1);
    const timer = killed < kills ? setTimeout(() => child.kill('SIGKILL'), lives) : undefined;
    const [code] = await gone;
    clearTimeout(timer);
    if (code === 0) return { killed, report: JSON.parse(out) as Report };
    if (code !== null) throw new Error(`expected the move to continue, it ended with code ${code}`);
    killed += 1;
    say(`killed after ${(lives / 1000).toFixed(1)} s`);
  }
}

await main();
