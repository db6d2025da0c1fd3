import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { FormatOptions } from '../../src/imports/formats/format.ts';
import type { ImportRunRecord } from '../../src/wire/contract/import-runs.ts';
import { cpuSecondsOfTree } from './process.ts';
import {
  benchDataDir,
  benchPersonalKey,
  delay,
  startMillrace,
  untilIdle,
  watchMemory,
  type MillraceProcess,
} from './server.ts';

export interface ImportBenchRun {
  readonly file: string;
  readonly format: string;
  readonly formatOptions: FormatOptions;
  readonly threads: number;
  /** Code of a plugin that is the project's enabled transformation, if any. */
  readonly transformation: string | undefined;
}

export const stages = ['export', 'check', 'load', 'verify', 'report'] as const;
type Stage = (typeof stages)[number];

export interface ImportFigures {
  readonly records: number;
  readonly events: number;
  readonly verdict: string;
  readonly perCpuSecond: number;
  readonly perSecond: number;
  readonly peakBytes: number;
  readonly sourceBytes: number;
  readonly stages: Readonly<Record<Stage, StageFigures>>;
}

export interface StageFigures {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Growth of the data directory at the end of the stage, without the source. */
  readonly diskBytes: number;
}

/** Runs a whole import, export to report, in a separate service. */
export async function measureImport(asked: ImportBenchRun): Promise<ImportFigures> {
  const dir = benchDataDir();
  mkdirSync(join(dir.path, 'import-files'));
  linkSync(asked.file, join(dir.path, 'import-files', 'export.ndjson'));
  try {
    const server = await startMillrace(dir.path, { MILLRACE_IMPORT_THREADS: String(asked.threads) });
    try {
      if (asked.transformation !== undefined) await install(server, asked.transformation);
      return await runOn(server, dir.path, asked);
    } finally {
      await server.stop();
    }
  } finally {
    dir.remove();
  }
}

const project = '/api/projects/@current';

async function install(server: MillraceProcess, code: string): Promise<void> {
  const files = { 'plugin.json': JSON.stringify({ name: 'bench' }), 'index.js': code };
  const plugin = await call<{ id: number }>('POST', `${server.url}${project}/plugins/`, { files });
  const configs = `${server.url}${project}/pipeline_transformation_configs/`;
  const config = await call<{ id: number }>('POST', configs, { plugin: plugin.id });
  await call('PATCH', `${configs}${config.id}/`, { enabled: true });
}

async function runOn(server: MillraceProcess, dataDir: string, asked: ImportBenchRun): Promise<ImportFigures> {
  const { results } = await call<{ results: { id: number; slug: string }[] }>(
    'GET',
    `${server.url}${project}/plugins/?limit=200`,
  );
  const configs = `${server.url}${project}/pipeline_import_apps_configs/`;
  const plugin = results.find(({ slug }) => slug === 'files')?.id;
  const { id } = await call<{ id: number }>('POST', configs, { plugin, name: 'bench' });
  const settings = { paths: 'export.ndjson', format: asked.format, rejected_max: '5' };
  await call('PATCH', `${configs}${id}/settings/`, settings);
  await untilIdle(server.pid);
  const memory = watchMemory(server.pid);
  const emptyBytes = diskBytes(dataDir);
  const before = cpuSecondsOfTree(server.pid);
  const started = performance.now();
  let run = await call<ImportRunRecord>('POST', `${configs}${id}/runs/`, { format_options: asked.formatOptions });
  const address = `${configs}${id}/runs/${run.id}/`;
  const cpu = new Map<string, number>();
  const disk = new Map<string, number>();
  for (let last = before; run.state === 'queued' || run.state === 'running';) {
    await delay(100);
    const now = cpuSecondsOfTree(server.pid);
    cpu.set(run.stage, (cpu.get(run.stage) ?? 0) + now - last);
    last = now;
    const { stage } = run;
    run = await call<ImportRunRecord>('GET', address);
    if (run.stage !== stage) disk.set(stage, diskBytes(dataDir));
  }
  const wallSeconds = (performance.now() - started) / 1000;
  if (run.state !== 'completed') throw new Error(`expected the run to end well, got: ${run.state}, ${run.reason}`);
  await untilIdle(server.pid);
  const cpuSeconds = cpuSecondsOfTree(server.pid) - before;
  disk.set('report', diskBytes(dataDir));
  const { verdict } = await call<{ verdict: string }>('GET', `${address}verify/`);
  memory.stop();
  const { records, loaded } = run.totals;
  const figuresOf = (stage: Stage): StageFigures => ({
    seconds: secondsOf(run, stage),
    cpuSeconds: cpu.get(stage) ?? 0,
    diskBytes: (disk.get(stage) ?? Number.NaN) - emptyBytes,
  });
  return {
    records,
    events: loaded,
    verdict,
    perCpuSecond: loaded / cpuSeconds,
    perSecond: loaded / wallSeconds,
    peakBytes: memory.peakBytes(),
    sourceBytes: statSync(asked.file).size,
    stages: {
      export: figuresOf('export'),
      check: figuresOf('check'),
      load: figuresOf('load'),
      verify: figuresOf('verify'),
      report: figuresOf('report'),
    },
  };
}

function secondsOf(run: ImportRunRecord, stage: Stage): number {
  const times = run.stages.find((each) => each.stage === stage);
  return (Date.parse(times?.finished_at ?? '') - Date.parse(times?.started_at ?? '')) / 1000;
}

/** A file with several names counts once. */
function diskBytes(dataDir: string): number {
  const said = execFileSync('sh', ['-c', 'du -sk --exclude=import-files "$1" || true', 'sh', dataDir], {
    encoding: 'utf8',
    // Files that disappear during the scan.
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return Number.parseInt(said, 10) * 1024;
}

async function call<T>(method: string, url: string, body?: object): Promise<T> {
  const headers = { authorization: `Bearer ${benchPersonalKey}`, 'content-type': 'application/json' };
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`expected ${method} ${url} to go well, got: ${answer.status} ${text.slice(0, 500)}`);
  return JSON.parse(text) as T;
}
