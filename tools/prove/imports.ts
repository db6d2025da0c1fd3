/**
 * Proves that an import is exact, however often it is killed: `npm run prove -- imports <format> [records] [kills] [victim]`.
 *
 * A generated export with planted faults is imported by the command line into a service. While it runs, kill -9 hits the
 * `victim` (importer, target or both) at random points and it is started again. `victim` restless: nothing is killed, but what
 * stands before the service answers 429, 503, 413 and resets at random, before and after passing a request on. In the end the
 * stored set is compared with the set that the format makes of the file, as (uuid, event, distinct_id, timestamp).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expectedSet, storedSet } from './imports/sets.ts';
import { startProxy } from './imports/restless-proxy.ts';
import { findFormat } from '../../src/imports/formats/registry.ts';
import { faultyExport } from '../../test/support/planted-faults.ts';
import { plans } from '../../test/support/planted-plans.ts';

const program = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));
const projectKey = 'phc_proveProjectKey0123456789';
const personalKey = 'phx_provePersonalKey0123456789';
const port = 18_000 + Math.floor(Math.random() * 1000);
const url = `http://127.0.0.1:${port}`;
const minutesMax = 30;
const stageOrder = ['start', 'export', 'check', 'load', 'verify', 'report'];
const killPlan = ['start', 'export', 'check', 'check', 'load', 'load', 'load', 'load', 'verify', 'verify'];

const [slug = 'mixpanel', recordsText = '20000', killsText = '5', victim = 'importer'] = process.argv.slice(2);
const [records, kills] = [Number(recordsText), victim === 'restless' ? 0 : Number(killsText)];
const format = findFormat(slug);
if (format === undefined) throw new Error(`expected a format, got: ${slug}`);
const dir = mkdtempSync(join(tmpdir(), 'millrace-prove-'));
const file = join(dir, 'export.ndjson');
await pipeline(Readable.from(faultyExport(slug, 7, records).chunks), createWriteStream(file));

let server = await startServer();
// Whatever goes wrong here leaves no service behind.
process.once('exit', () => server.kill('SIGKILL'));
const proxy = victim === 'restless' ? await startProxy(url) : undefined;
const started = performance.now();
const stages = new Map<string, number>();
let killed = 0;
let importer = startImporter(proxy?.url ?? url);
for (;;) {
  const code = killed < kills ? await Promise.race([importer.over, momentToKill(importer)]) : await importer.over;
  if (code === 'time') {
    killed += 1;
    stages.set(importer.stage(), (stages.get(importer.stage()) ?? 0) + 1);
    if (victim !== 'target') {
      importer.process.kill('SIGKILL');
      await importer.over;
    }
    if (victim !== 'importer') {
      server.kill('SIGKILL');
      await delay(Math.random() * 1000);
      server = await startServer();
    }
    if (victim !== 'target') importer = startImporter(url);
    continue;
  }
  // 0: exact; 3: done, with rejected records, which were planted.
  if (code === 0 || code === 3) {
    console.log(importer.last());
    break;
  }
  if (victim !== 'both') throw new Error(`the import ended with ${code}: ${importer.said()}`);
  if ((performance.now() - started) / 60_000 > minutesMax) throw new Error(`not done in ${minutesMax} minutes`);
  importer = startImporter(url);
}
const seconds = (performance.now() - started) / 1000;
await proxy?.close();
server.kill('SIGTERM');
await new Promise((resolve) => server.once('exit', resolve));

const expected = expectedSet(format, plans[slug]?.options ?? {}, file);
const stored = await storedSet(join(dir, 'data'));
const missing = [...expected].filter(([key, time]) => stored.get(key) !== time).slice(0, 5);
const surplus = [...stored].filter(([key]) => !expected.has(key)).slice(0, 5);
console.log(
  `${slug}: ${records} records, ${killed} kills of ${victim} ${JSON.stringify(Object.fromEntries(stages))}, ` +
    `${seconds.toFixed(0)} s; expected ${expected.size}, stored ${stored.size}`,
  ...(proxy === undefined ? [] : [JSON.stringify(proxy.did)]),
);
if (missing.length + surplus.length > 0) {
  console.log({ missing, surplus, dir });
  process.exitCode = 1;
} else {
  console.log('exact');
  rmSync(dir, { recursive: true, force: true });
}

/** The kills are spread over the stages; within a stage the moment is random. */
async function momentToKill(importer: Importer): Promise<'time'> {
  const wanted = stageOrder.indexOf(killPlan[Math.floor((killed / kills) * killPlan.length)] ?? 'load');
  while (stageOrder.indexOf(importer.stage()) < wanted) await delay(20);
  return delay(Math.random() * (wanted >= 3 ? 400 : 3000));
}

async function startServer(): Promise<ChildProcess> {
  const child = spawn(process.execPath, [program, 'serve'], {
    env: {
      PATH: process.env['PATH'],
      MILLRACE_PORT: String(port),
      MILLRACE_DATA_DIR: join(dir, 'data'),
      MILLRACE_BOOTSTRAP_PROJECT_API_KEY: projectKey,
      MILLRACE_BOOTSTRAP_PERSONAL_API_KEY: personalKey,
      MILLRACE_API_RATE_LIMIT: 'off',
      MILLRACE_LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (;;) {
    if (child.exitCode !== null) throw new Error(`expected the service to start, it ended with ${child.exitCode}`);
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return child;
    await delay(100);
  }
}

interface Importer {
  readonly process: ChildProcess;
  /** Its exit code. */
  readonly over: Promise<number | null>;
  stage(): string;
  said(): string;
  last(): string;
}

function startImporter(to: string): Importer {
  const options = plans[slug]?.options ?? {};
  const child = spawn(
    process.execPath,
    [
      program,
      'import',
      slug,
      file,
      ...flags({ to, 'project-key': projectKey, 'api-key': personalKey }),
      ...flags({ 'state-dir': join(dir, 'state'), 'rejected-max': '50%' }),
      '--json',
      ...Object.entries(options).flatMap(([key, value]) => ['--format-option', `${key}=${value}`]),
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let stage = 'start';
  let last = '';
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    last = text.trim().split('\n').at(-1) ?? last;
    stage = /"stage":"(\w+)"/.exec(last)?.[1] ?? stage;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-2000)));
  return {
    process: child,
    over: new Promise((resolve) => child.once('exit', resolve)),
    stage: () => stage,
    said: () => `${said}\n${last.slice(0, 1000)}`,
    last: () => last.slice(0, 600),
  };
}

function delay(ms: number): Promise<'time'> {
  return new Promise((resolve) => setTimeout(() => resolve('time'), ms));
}

function flags(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => [`--${name}`, value]);
}
