/**
 * Proves that an erased person is gone: `npm run prove -- erase [--persons 100000] [--events 5000] [--kills 20]`. A service has a history of
 * many persons, one of them with events under three ids over 36 months. While clients keep sending, the person is erased and the service
 * is killed again and again. Afterwards no file of the data directory contains an id or the address of the person, the API knows nothing of
 * it, the result equals the dry run, and the events and persons of all others are unchanged by number and checksum.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import type { ErasureCounts, ErasureResult } from '../../src/wire/contract/erasures.ts';
import { tempChdb } from '../../test/support/chdb.ts';
import { filesWith } from '../../test/support/store-bytes.ts';
import { launchService, provedKeys, stopService, untilServiceReady, type ProvedService } from './proved-service.ts';

const { values } = parseArgs({
  options: {
    persons: { type: 'string', default: '100000' },
    events: { type: 'string', default: '5000' },
    kills: { type: 'string', default: '20' },
  },
});
const [persons, events, kills] = [Number(values.persons), Number(values.events), Number(values.kills)];
const ids = ['canary-anonymous-6d1f', "canary-user-\\'é", 'canary-12345678901234567890'] as const;
const mail = 'canary-mail-6d1f@example.com';
const traces = [...ids, mail, 'canary-'];
const program = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));
const erasures = '/api/projects/@current/erasures';
const steps = ['counted', 'erased', 'cleaned', 'rebuilding', 'forgetting'].map((step) => `erasure_${step}`);
// Each start of the service adds a listener.
process.setMaxListeners(kills + 20);
let failures = 0;

const dataDir = await mkdtemp(join(tmpdir(), 'millrace-prove-erase-'));
process.once('exit', () => spawnSync('rm', ['-rf', dataDir]));
let service = await started();
const key = createKey();
let killed = 0;
let sent = 0;
const loading = new AbortController();

await sendHistory();
await stopService(service);
const before = await othersIn(dataDir);
console.log(`before: ${JSON.stringify(before)}`);
check('files contain the person before', (await filesOf()).length > 0, true);
service = await started();
const load = sendLoad();
const dryRun = await call<ErasureCounts>(`${erasures}/dry_run`, { distinct_ids: [ids[1]] });
console.log(`dry run: ${JSON.stringify({ ...dryRun, by_month: Object.keys(dryRun.by_month).length })}`);
check('the dry run counts all events of all ids', dryRun.events, events + 2);
check('the dry run counts all months', Object.keys(dryRun.by_month).length, Math.ceil(Math.min(events, 1090) / 30.4));
const { id } = await call<{ id: string }>(erasures, { distinct_ids: [ids[1]] });
const begun = performance.now();
const result = await erasedThroughKills();
console.log(
  `erased after ${Math.round((performance.now() - begun) / 1000)} s and ${killed} kills, ${sent} events sent in the meantime`,
);
const { rows_left, persons_rebuilt, groups_rebuilt, log, ...counts } = result;
console.log(`result: ${JSON.stringify({ rows_left, persons_rebuilt, groups_rebuilt, log, events: counts.events })}`);
check('the result is the dry run', counts, dryRun);
check('no row is left', [rows_left, log], [0, 'erased']);
loading.abort();
await load;
await untilStored();
for (const one of ids) {
  const found = await get<{ count: number }>(`/api/projects/@current/persons/?distinct_id=${encodeURIComponent(one)}`);
  check(`the API has no person of ${one}`, found.count, 0);
  const stored = await get<{ results: unknown[] }>(
    `/api/projects/@current/events/?distinct_id=${encodeURIComponent(one)}`,
  );
  check(`the API has no event of ${one}`, stored.results.length, 0);
}
await stopService(service);
check('no file contains a trace of the person', await filesOf(), []);
const after = await othersIn(dataDir);
console.log(`after: ${JSON.stringify(after)}`);
check('all others are unchanged', { ...after, load: 0 }, { ...before, load: 0 });
check('every event that was acknowledged in the meantime is stored once', after.load, sent);
console.log(failures === 0 ? 'proved' : `${failures} checks failed`);
await rm(dataDir, { recursive: true, force: true });
process.exitCode = failures === 0 ? 0 : 1;

async function started(env: Readonly<Record<string, string>> = {}): Promise<ProvedService> {
  const launched = await launchService(dataDir, env);
  await untilServiceReady(launched);
  return launched;
}

function createKey(): string {
  const args = [program, 'keys', 'create', 'proof', '--scope', 'project:read', 'erasure:write'];
  const env = { PATH: process.env['PATH'], MILLRACE_DATA_DIR: dataDir };
  return spawnSync(process.execPath, args, { env, cwd: dataDir, encoding: 'utf8' }).stdout.trim();
}

async function sendHistory(): Promise<void> {
  const day = (at: number): string => new Date(Date.UTC(2021, 0, 2) + at * 86_400_000).toISOString();
  const of = (n: number, distinct_id: string, at: number, $set: object) => ({
    uuid: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    event: n % 3 === 0 ? 'seen' : "it's bought",
    distinct_id,
    timestamp: day(at),
    properties: { n, $set },
  });
  const identify = (n: number, other: string) => ({
    ...of(n, ids[1], 0, {}),
    event: '$identify',
    properties: { $anon_distinct_id: other },
  });
  const theirs = Array.from({ length: events }, (_, n) => of(n, ids[n % 3] ?? ids[0], n % 1090, { email: mail, n }));
  const others = Array.from({ length: persons - 1 }, (_, n) =>
    of(1_000_000 + n, `user-${n}`, n % 1090, { plan: n % 7 }),
  );
  const all = [...theirs, identify(events, ids[0]), identify(events + 1, ids[2]), ...others];
  for (let from = 0; from < all.length; from += 2000) {
    await capture({ batch: all.slice(from, from + 2000), historical_migration: true });
  }
  await untilStored();
}

async function capture(body: object): Promise<void> {
  for (;;) {
    const answer = await fetch(`${service.url}/batch/`, {
      method: 'POST',
      body: JSON.stringify({ api_key: provedKeys.project, ...body }),
    }).catch(() => undefined);
    await answer?.arrayBuffer().catch(() => undefined);
    if (answer?.status === 200) return;
    await delay(100);
  }
}

/** Sends live events until the erasure is done; those that a kill left unanswered are sent again. */
async function sendLoad(): Promise<void> {
  for (let batch = 0; !loading.signal.aborted; batch += 1) {
    const uuidOf = (n: number): string => `00000000-0000-4000-9000-${String(batch * 50 + n).padStart(12, '0')}`;
    const timestamp = new Date().toISOString();
    const some = Array.from({ length: 50 }, (_, n) => {
      return { event: 'load', uuid: uuidOf(n), distinct_id: `load-${n}`, timestamp, properties: { batch } };
    });
    await capture({ batch: some });
    sent += some.length;
    await delay(100);
  }
}

/** Random moments first, which are mostly in the long first step, then right after each step. */
async function erasedThroughKills(): Promise<ErasureResult> {
  while (killed < kills - steps.length) {
    await delay(randomInt(50, 1000));
    const { state, progress } = await record();
    if (state === 'done') throw new Error(`expected an erasure that outlasts ${kills} kills, got one that is done`);
    await stopService(service, 'SIGKILL');
    noteKill(`in step ${progress?.step ?? 'queued'}`);
    service = await started();
  }
  for (const step of steps) {
    await stopService(service, 'SIGKILL');
    expireLease();
    service = await launchService(dataDir, { MILLRACE_FAIL_AT: step, MILLRACE_ALLOW_FAILPOINTS: 'true' });
    if (service.child.exitCode === null && service.child.signalCode === null) await once(service.child, 'exit');
    noteKill(`at ${step}`);
  }
  service = await started();
  for (;;) {
    const { state, error, result: ended } = await record();
    if (state === 'failed') throw new Error(`expected the erasure to succeed, got: ${error}`);
    if (ended !== null) return ended;
    await delay(200);
  }
}

interface ErasureState {
  readonly state: string;
  readonly error: string;
  readonly progress: { readonly step: string } | null;
  readonly result: ErasureResult | null;
}

function record(): Promise<ErasureState> {
  return get<ErasureState>(`${erasures}/${id}/`, key);
}

function noteKill(where: string): void {
  killed += 1;
  console.log(`kill ${killed} ${where}`);
  expireLease();
}

/** As if the lease of the dead worker had expired, which takes half a minute. */
function expireLease(): void {
  const db = new DatabaseSync(join(dataDir, 'metadata.sqlite'), { timeout: 30_000 });
  db.exec("update tasks set lease_until = '2000-01-01T00:00:00.000000Z' where state = 'running'");
  db.close();
}

async function untilStored(): Promise<void> {
  for (;;) {
    const ready = (await fetch(`${service.url}/metrics`).then((answer) => answer.text())) ?? '';
    const waiting = [...ready.matchAll(/^millrace_buffer_events\{[^}]*\} (\d+)/gm)].map(([, n]) => Number(n));
    if (waiting.length > 0 && waiting.every((n) => n === 0)) return;
    await delay(500);
  }
}

async function get<T>(path: string, by = provedKeys.personal): Promise<T> {
  const answer = await fetch(service.url + path, { headers: { authorization: `Bearer ${by}` } });
  if (answer.status !== 200) throw new Error(`expected 200 from ${path}, got: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

async function call<T>(path: string, body: object): Promise<T> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answer = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (answer.status >= 300)
    throw new Error(`expected success from ${path}, got: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** Names files of the stopped service that contain a trace: of the event store unpacked, of others as they are. */
async function filesOf(): Promise<string[]> {
  const store = join(dataDir, 'events');
  const others = readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(store))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => traces.some((trace) => readFileSync(path).includes(trace)));
  return [...filesWith(store, traces), ...others].map((path) => path.slice(0, 200));
}

interface Others {
  readonly events: string;
  readonly checksum: string;
  readonly persons: string;
  readonly load: number;
}

/** Counts and sums events and persons of all others in the files of the stopped service. */
async function othersIn(dir: string): Promise<Others> {
  const chdb = await tempChdb({ queryTimeoutMs: 120_000 }, dir);
  try {
    const line = 'tuple(day, event, distinct_id, uuid, timestamp, properties, received_at)';
    const sql = `SELECT countIf(distinct_id LIKE 'user-%') AS events,
  sumIf(cityHash64(${line}), distinct_id LIKE 'user-%') AS checksum, countIf(distinct_id LIKE 'load-%') AS load FROM events FINAL`;
    const [row] = await chdb.store.query<{ events: string; checksum: string; load: string }>(sql);
    return {
      events: row?.events ?? '',
      checksum: row?.checksum ?? '',
      persons: personsIn(dir),
      load: Number(row?.load),
    };
  } finally {
    await chdb.close();
  }
}

function personsIn(dir: string): string {
  const db = new DatabaseSync(join(dir, 'metadata.sqlite'), { readOnly: true });
  const rows = db
    .prepare(
      `select i.distinct_id as id, p.uuid, p.created_at_micros as at, p.registers, p.is_identified as known from persons p
join person_distinct_ids i on i.person_uuid = p.uuid and i.project_id = p.project_id
where i.distinct_id like 'user-%' order by i.distinct_id`,
    )
    .all();
  db.close();
  let hash = 0n;
  for (const row of rows)
    for (const letter of JSON.stringify(row)) hash = (hash * 31n + BigInt(letter.charCodeAt(0))) % (2n ** 61n - 1n);
  return `${rows.length} ${hash}`;
}

function check(what: string, got: unknown, expected: unknown): void {
  const holds = isDeepStrictEqual(got, expected);
  if (!holds) failures += 1;
  console.log(
    `${holds ? 'holds' : 'FAILS'}: ${what}${holds ? '' : `: expected ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`}`,
  );
}
