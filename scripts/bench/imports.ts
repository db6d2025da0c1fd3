import { fork } from 'node:child_process';
import { createWriteStream, linkSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ImportRunRecord } from '../../src/contract/import-runs.ts';
import { mixpanel } from '../../src/imports/formats/mixpanel/mixpanel.ts';
import { mixpanelRecords } from '../../src/imports/formats/mixpanel/records.fixture.ts';
import { megabytes } from './end-to-end.ts';
import { thousands } from './pairs.ts';
import { cpuSecondsOfTree } from './process.ts';
import { insertRaw, type RawEvent } from './raw-insert.ts';
import {
  benchDataDir,
  benchPersonalKey,
  delay,
  startMillrace,
  untilIdle,
  watchMemory,
  type MillraceProcess,
} from './server.ts';

const seed = 1;
/** As on a website: people come, do a few things, and perhaps come again another day. */
const recordsPerVisit = 5;

/**
 * A whole import run, export to report, of generated Mixpanel records, beside (a) the raw insert of the same rows and (b) the
 * npm package mixpanel-import reading and transforming the same file without sending; (b) is left out unless
 * BENCH_MIXPANEL_IMPORT names the directory of the package.
 */
export async function benchImports(records: number): Promise<string> {
  const dir = benchDataDir();
  const file = join(dir.path, 'import-files', 'mixpanel.ndjson');
  mkdirSync(join(dir.path, 'import-files'));
  await pipeline(Readable.from(lines(records)), createWriteStream(file));
  const single = await inThreads(file, 1);
  const double = await inThreads(file, 2);
  const ours = await wholeRun(dir.path);
  const raw = await insertRaw(events(records));
  const packaged = await throughPackage(file);
  dir.remove();
  const row: Row = (name, perCpu, perSecond) =>
    `| ${name} | ${thousands(perCpu)} | **${(ours.perCpuSecond / perCpu).toFixed(2)}** | ${thousands(perSecond)} |`;
  return [
    `${records.toLocaleString('en-US')} records of Mixpanel, ${ours.events.toLocaleString('en-US')} events; verified: ${ours.verdict}.`,
    '',
    '| | events per CPU-s | the run, of this | events/s |',
    '|---|---|---|---|',
    row('the run: export, check, load, verify, report', ours.perCpuSecond, ours.perSecond),
    row('(a) raw insert of the same rows', raw.perCpuSecond, raw.perSecond),
    ...(packaged === undefined ? [] : besidePackage(records, ours, packaged, row)),
    '',
    '(i) An import with 1 and 2 threads:',
    '',
    '| threads | export and check, records/s | of one | µs of CPU a record | the run, events/s |',
    '|---|---|---|---|---|',
    ...[single, double].map((run, index) => threadsRow(index + 1, records, run, single)),
    '',
    `Peak memory: the service ${megabytes(ours.ownPeakBytes)}, with its store ${megabytes(ours.peakBytes)}${packaged === undefined ? '' : `, mixpanel-import ${megabytes(packaged.peakBytes)}`}.`,
    `Seconds by stage (of CPU): ${ours.stages}.`,
  ].join('\n');
}

/** The same file once more, in a service of its own. */
async function inThreads(file: string, threads: number): Promise<WholeRun> {
  const dir = benchDataDir();
  mkdirSync(join(dir.path, 'import-files'));
  linkSync(file, join(dir.path, 'import-files', 'mixpanel.ndjson'));
  try {
    return await wholeRun(dir.path, threads);
  } finally {
    dir.remove();
  }
}

function threadsRow(threads: number, records: number, run: WholeRun, single: WholeRun): string {
  const perSecond = records / run.unsent.seconds;
  const ratio = single.unsent.seconds / run.unsent.seconds;
  const micros = (run.unsent.cpuSeconds / records) * 1e6;
  return `| ${threads} | ${thousands(perSecond)} | **${ratio.toFixed(2)}** | ${micros.toFixed(1)} | ${thousands(run.perSecond)} |`;
}

type Row = (name: string, perCpu: number, perSecond: number) => string;

/** What the package does is what the first two stages do: read, convert and check, send nothing. */
function besidePackage(records: number, ours: WholeRun, packaged: PackageRun, row: Row): string[] {
  const perCpu = records / packaged.cpuSeconds;
  const [own, ownPerSecond] = [records / ours.unsent.cpuSeconds, records / ours.unsent.seconds];
  return [
    row('(b) mixpanel-import, nothing sent', perCpu, records / packaged.wallSeconds),
    `| export and check alone, records | ${thousands(own)} | ${(own / perCpu).toFixed(2)} of (b) | ${thousands(ownPerSecond)} |`,
  ];
}

function* lines(records: number): Generator<string> {
  let text = '';
  for (const record of mixpanelRecords(seed, records, recordsPerVisit)) {
    text += `${JSON.stringify(record)}\n`;
    if (text.length < 1_000_000) continue;
    yield text;
    text = '';
  }
  yield text;
}

function* events(records: number): Generator<RawEvent> {
  const read = mixpanel.createReader({}, mixpanel.names);
  // Records come in the order of time, so duplicates are near.
  let seen = new Set<string>();
  let before = new Set<string>();
  for (const record of mixpanelRecords(seed, records, recordsPerVisit)) {
    const result = read(record);
    if (result.kind !== 'events') continue;
    for (const event of result.events) {
      const key = `${event.uuid}${event.event}${event.timestamp.slice(0, 10)}`;
      if (seen.has(key) || before.has(key)) continue;
      if (seen.size === 1_000_000) [before, seen] = [seen, new Set()];
      seen.add(key);
      yield { ...event, historical: true };
    }
  }
}

interface WholeRun {
  readonly events: number;
  readonly verdict: string;
  readonly perCpuSecond: number;
  readonly perSecond: number;
  readonly peakBytes: number;
  readonly ownPeakBytes: number;
  /** Export and check. */
  readonly unsent: { readonly cpuSeconds: number; readonly seconds: number };
  readonly stages: string;
}

async function wholeRun(dataDir: string, threads = 0): Promise<WholeRun> {
  const server = await startMillrace(dataDir, { MILLRACE_IMPORT_THREADS: String(threads) });
  try {
    return await runOn(server);
  } finally {
    await server.stop();
  }
}

async function runOn(server: MillraceProcess): Promise<WholeRun> {
  await untilIdle(server.pid);
  const memory = watchMemory(server.pid);
  const configs = `${server.url}/api/projects/@current/pipeline_import_apps_configs`;
  const plugins = await call<{ results: { id: number; slug: string }[] }>(
    'GET',
    `${server.url}/api/projects/@current/plugins/?limit=200`,
  );
  const plugin = plugins.results.find(({ slug }) => slug === 'files')?.id;
  const settings = { paths: 'mixpanel.ndjson', format: 'mixpanel', rejected_max: '5' };
  const config = await call<{ id: number }>('POST', `${configs}/`, { plugin, name: 'bench' });
  await call('PATCH', `${configs}/${config.id}/settings/`, settings);
  const before = cpuSecondsOfTree(server.pid);
  const started = performance.now();
  let run = await call<ImportRunRecord>('POST', `${configs}/${config.id}/runs/`, {});
  const perStage = new Map<string, number>();
  while (run.state === 'queued' || run.state === 'running') {
    const cpu = cpuSecondsOfTree(server.pid);
    await delay(250);
    perStage.set(run.stage, (perStage.get(run.stage) ?? 0) + cpuSecondsOfTree(server.pid) - cpu);
    run = await call<ImportRunRecord>('GET', `${configs}/${config.id}/runs/${run.id}/`);
  }
  const wallSeconds = (performance.now() - started) / 1000;
  if (run.state !== 'completed') throw new Error(`expected the run to end well, got: ${run.state}, ${run.reason}`);
  await untilIdle(server.pid);
  const cpuSeconds = cpuSecondsOfTree(server.pid) - before;
  const verify = await call<{ verdict: string }>('GET', `${configs}/${config.id}/runs/${run.id}/verify/`);
  memory.stop();
  const { loaded } = run.totals;
  return {
    events: loaded,
    verdict: verify.verdict,
    perCpuSecond: loaded / cpuSeconds,
    perSecond: loaded / wallSeconds,
    peakBytes: memory.peakBytes(),
    ownPeakBytes: memory.ownPeakBytes(),
    unsent: {
      cpuSeconds: (perStage.get('export') ?? 0) + (perStage.get('check') ?? 0),
      seconds: run.stages
        .filter(({ stage }) => stage === 'export' || stage === 'check')
        .reduce((sum, times) => sum + secondsOf(times), 0),
    },
    stages: run.stages
      .map(
        ({ stage, ...times }) => `${stage} ${secondsOf(times).toFixed(1)} (${(perStage.get(stage) ?? 0).toFixed(1)})`,
      )
      .join(', '),
  };
}

function secondsOf(times: { readonly started_at: string | null; readonly finished_at: string | null }): number {
  if (times.started_at === null || times.finished_at === null) return NaN;
  return (Date.parse(times.finished_at) - Date.parse(times.started_at)) / 1000;
}

async function call<T>(method: string, url: string, body?: object): Promise<T> {
  const headers = { authorization: `Bearer ${benchPersonalKey}`, 'content-type': 'application/json' };
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`expected ${method} ${url} to go well, got: ${answer.status} ${text.slice(0, 500)}`);
  return JSON.parse(text) as T;
}

interface PackageRun {
  readonly wallSeconds: number;
  readonly cpuSeconds: number;
  readonly peakBytes: number;
}

async function throughPackage(file: string): Promise<PackageRun | undefined> {
  const place = process.env['BENCH_MIXPANEL_IMPORT'];
  if (place === undefined) return undefined;
  const child = fork(new URL('./mixpanel-import.ts', import.meta.url), [place, file], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as PackageRun));
    child.once('exit', (code) => reject(new Error(`expected figures of mixpanel-import, it ended with ${code}`)));
  });
}
