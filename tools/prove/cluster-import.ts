/**
 * Proves that an import by several processes is exact while they are killed repeatedly:
 * `npm run prove -- cluster-import [--records 1000000] [--every 10] [--seed 1]`, with the servers of KAFKA_BROKERS, DATABASE_URL,
 * CLICKHOUSE_URL and BUCKET_ENDPOINT. With separate servers:
 *
 *   node tools/with-clickhouse.ts -- node tools/with-kafka.ts -- node tools/with-postgres.ts -- \
 *     node tools/with-bucket.ts -- npm run prove -- cluster-import
 *
 * A generated export is uploaded in pieces and imported by two processes of the role `jobs`, next to one each for `capture`, `pipeline` and
 * `api`. Every --every seconds kill -9 hits one of the two, alternately, and it restarts. At the end the service compares the stored events
 * with the staged ones, property by property, and every sum of the report has to agree.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { ReportResult } from '../../src/imports/stages/report/report.ts';
import type { VerifyResult } from '../../src/imports/run/results.ts';
import { freePort } from '../with-server.ts';
import { mixpanelRecords } from '../../src/imports/formats/mixpanel/records.fixture.ts';

const program = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));
const keys = { project: 'phc_proveProjectKey0123456789', personal: 'phx_provePersonalKey0123456789' };
const recordsPerPiece = 50_000;
const minutesMax = 120;
const family = '/api/projects/@current/pipeline_import_apps_configs/';

interface Run {
  readonly id: string;
  readonly state: string;
  readonly stage: string;
  readonly reason: string;
  readonly totals: { readonly records: number; readonly loaded: number; readonly verified: number };
}

interface Service {
  readonly child: ChildProcess;
  readonly url: string;
}

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '1000000' },
    every: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
  },
});
const [records, seconds] = [Number(values.records), Number(values.every)];
const dir = mkdtempSync(join(tmpdir(), 'millrace-prove-cluster-'));
const started = performance.now();
const running = new Set<ChildProcess>();
// Whatever goes wrong here leaves no process behind.
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')));
let made = 0;

const api = await startRole('api');
await Promise.all([startRole('capture'), startRole('pipeline')]);
const jobs = await Promise.all([startRole('jobs'), startRole('jobs')]);
say(`${records} records, kill -9 of a jobs process every ${seconds} s`);
const path = await startImport();
const { run, kills } = await killUntilDone(path);
const verify = await call<VerifyResult>('GET', `${path}verify/`);
const report = await call<ReportResult>('GET', `${path}report/`);
const broken = report.balance.filter(({ holds }) => !holds);
say(`${kills.length} kills, in ${countBy(kills)}; ${run.totals.records} records, ${run.totals.loaded} loaded`);
say(`${verify.verdict}: ${verify.detail}`);
const isExact = verify.verdict === 'exact' && broken.length === 0 && run.totals.records === records;
if (!isExact) console.log(JSON.stringify({ totals: run.totals, verify, broken }, undefined, 2));
console.log(isExact ? 'exact' : 'NOT EXACT');
process.exitCode = isExact ? 0 : 1;
for (const child of running) child.kill('SIGKILL');
rmSync(dir, { recursive: true, force: true });

function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}

function needed(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '')
    throw new Error(`expected ${name}, got none; see what this script says it needs`);
  return value;
}

async function startRole(role: string): Promise<Service> {
  made += 1;
  const port = await freePort();
  const child = spawn(process.execPath, [program, 'serve', '--roles', role], {
    env: {
      ...process.env,
      MILLRACE_PORT: String(port),
      MILLRACE_DATA_DIR: join(dir, `${role}-${made}`),
      DATABASE_URL: needed('DATABASE_URL'),
      KAFKA_BROKERS: needed('KAFKA_BROKERS'),
      CLICKHOUSE_URL: needed('CLICKHOUSE_URL'),
      MILLRACE_KAFKA_REPLICATION: '1',
      MILLRACE_KAFKA_MIN_INSYNC: '1',
      MILLRACE_IMPORT_STAGING: `s3://${needed('BUCKET_NAME')}/imports`,
      MILLRACE_IMPORT_STAGING_ENDPOINT: needed('BUCKET_ENDPOINT'),
      MILLRACE_IMPORT_STAGING_ACCESS_KEY_ID: needed('BUCKET_ACCESS_KEY_ID'),
      MILLRACE_IMPORT_STAGING_SECRET_ACCESS_KEY: needed('BUCKET_SECRET_ACCESS_KEY'),
      MILLRACE_BOOTSTRAP_PROJECT_API_KEY: keys.project,
      MILLRACE_BOOTSTRAP_PERSONAL_API_KEY: keys.personal,
      MILLRACE_API_RATE_LIMIT: 'off',
      MILLRACE_LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`expected ${role} to start, it ended with ${child.exitCode}`);
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return { child, url };
    await delay(100);
  }
}

async function call<T>(method: string, to: string, body?: object): Promise<T> {
  const answer = await fetch(api.url + to, {
    method,
    headers: { authorization: `Bearer ${keys.personal}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`expected ${method} ${to} to succeed, got: ${answer.status} ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Returns the path of the run in the API. */
async function startImport(): Promise<string> {
  let offset = 0;
  let lines: string[] = [];
  const send = async (): Promise<void> => {
    const piece = Buffer.from(lines.join(''));
    lines = [];
    const answer = await fetch(`${api.url}/api/projects/@current/import_files/?name=export.jsonl&offset=${offset}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.personal}`, 'content-type': 'application/octet-stream' },
      body: piece,
    });
    if (answer.status !== 201)
      throw new Error(`expected a piece to be taken, got: ${answer.status} ${await answer.text()}`);
    offset += piece.length;
  };
  for (const record of mixpanelRecords(Number(values.seed), records)) {
    lines.push(`${JSON.stringify(record)}\n`);
    if (lines.length === recordsPerPiece) await send();
  }
  if (lines.length > 0) await send();
  say(`uploaded ${offset} bytes`);
  const plugins = await call<{ results: { id: number; name: string }[] }>(
    'GET',
    '/api/projects/@current/plugins/?limit=100',
  );
  const plugin = plugins.results.find(({ name }) => name === 'Files')?.id;
  const { id } = await call<{ id: number }>('POST', family, { plugin });
  await call('PATCH', `${family}${id}/settings/`, { paths: 'upload:export.jsonl', format: 'mixpanel' });
  const { id: runId } = await call<Run>('POST', `${family}${id}/runs/`, {});
  return `${family}${id}/runs/${runId}/`;
}

/** Returns the stages in which the kills came. */
async function killUntilDone(to: string): Promise<{ readonly run: Run; readonly kills: readonly string[] }> {
  const hit: string[] = [];
  for (let nextKill = performance.now() + seconds * 1000; ; await delay(250)) {
    const run = await call<Run>('GET', to);
    if (run.state === 'completed') return { run, kills: hit };
    if (run.state === 'failed') throw new Error(`expected the run to continue, it failed: ${run.reason}`);
    if (performance.now() - started > minutesMax * 60_000) throw new Error(`not done in ${minutesMax} minutes`);
    if (performance.now() < nextKill) continue;
    // On a busy machine a start may take longer than that: then the next kill comes at once.
    nextKill = Math.max(nextKill + seconds * 1000, performance.now());
    hit.push(run.stage);
    const index = hit.length % jobs.length;
    const { child } = jobs[index] ?? api;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
    jobs[index] = await startRole('jobs');
    say(`killed in ${run.stage}; ${run.totals.records} records, ${run.totals.loaded} loaded`);
  }
}

function countBy(words: readonly string[]): string {
  const counts = Map.groupBy(words, (word) => word);
  return [...counts].map(([word, all]) => `${word} ${all.length}`).join(', ');
}
