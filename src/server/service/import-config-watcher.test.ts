import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startImportsApp, type ImportsApp } from '../../../test/support/imports-app.ts';
import { runOptions } from '../../../test/support/runs.ts';
import { startRunWorker, type OpenStages } from '../../imports/run/run-worker.ts';
import { createRun, getRun } from '../../imports/run/run-store.ts';
import type { RunStage, RunStages } from '../../imports/run/leased-run.ts';
import { SourceError } from '../../imports/source.ts';
import { listConfigMetrics } from '../../plugins/services/config-metrics.ts';
import { listLogs } from '../../plugins/services/plugin-logs.ts';
import { createLog } from '../telemetry/log.ts';
import { createImportConfigWatcher } from './import-config-watcher.ts';

// Real: the worker, the metadata store, the API. Doubled: the stages.
let api: ImportsApp;
let config: number;
beforeEach(async () => {
  api = await startImportsApp();
  config = await api.config();
});
afterEach(() => api[Symbol.asyncDispose]());

const nothing: RunStage = async () => undefined;
const doNothing = {
  export: nothing,
  check: nothing,
  load: nothing,
  verify: nothing,
  report: nothing,
  undo: nothing,
  replace: nothing,
};

async function work(stages: Partial<RunStages>): Promise<string> {
  const { db, clock, project } = api.app;
  const owner = { projectId: project.id, configId: config, source: 'test-source' };
  const id = (await createRun(db, { ...owner, options: runOptions, now: clock.now() })).id;
  const log = createLog('silent');
  const watcher = createImportConfigWatcher({ db, clock, log, days: 7 });
  const stop = new AbortController();
  const stagesOf = async (): Promise<OpenStages> => ({ ...doNothing, ...stages });
  const worker = startRunWorker({ db, clock, log, stagesOf, signal: stop.signal, concurrency: 1, pollMs: 5, watcher });
  await expect.poll(async () => (await getRun(db, id))?.state).toMatch(/^(completed|failed)$/);
  stop.abort();
  await worker.done;
  await watcher.close();
  return id;
}

const load: RunStage = async (leased) => {
  for (const loaded of [40, 100]) {
    const done = { stage: 'load', partsDone: 0, done: loaded, bytes: 0, rate: 0 } as const;
    leased.progress(done, { records: 109, rejected: 4, loaded, skipped: { unknown: 5 } });
  }
};

async function shown() {
  const { body } = await api.call('GET', `/pipeline_import_apps_configs/${config}/`);
  return { error: body['error'], rate: body['delivery_rate_24h'] };
}

async function totals() {
  const now = api.app.clock.now();
  const of = { projectId: api.app.project.id, configId: config, from: now - 1, to: now + 1, interval: 'hour' } as const;
  return (await listConfigMetrics(api.app.db, of)).totals;
}

const lines = async (): Promise<string[]> =>
  (await listLogs(api.app.db, { projectId: api.app.project.id, configId: config }, { limit: 100 }))
    .map(({ level, message }) => `${level} ${message}`)
    .reverse();

describe('the config of an import app', () => {
  it('shows what its runs loaded, rejected and skipped, and their stages with times', async () => {
    expect((await shown()).rate).toBe('');
    const id = await work({ load });
    expect(await totals()).toMatchObject({ succeeded: 100, failed: 4, dropped: 5 });
    expect((await shown()).rate).not.toBe('');
    expect(await lines()).toEqual([
      ...['export', 'check', 'load', 'verify', 'report'].map((stage) => `INFO Run ${id}: ${stage} begins`),
      `INFO Run ${id}: completed: 109 records, 4 rejected, 100 events loaded`,
    ]);
  });

  it('a repeated stage is not counted twice', async () => {
    await work({
      load: async (leased) => {
        await load(leased);
        const again = { stage: 'load', partsDone: 0, done: 0, bytes: 0, rate: 0 } as const;
        leased.progress(again, { loaded: 0 });
        leased.progress({ ...again, done: 100 }, { loaded: 100 });
      },
    });
    expect(await totals()).toMatchObject({ succeeded: 100, failed: 4, dropped: 5 });
  });

  it('shows the reason of a failed run as its error until a run continues', async () => {
    const id = await work({
      check: async () => {
        throw new SourceError('the key is wrong; set "key"');
      },
    });
    expect((await shown()).error).toBe('the key is wrong; set "key"');
    expect((await lines()).at(-1)).toBe(`ERROR Run ${id}: failed: the key is wrong; set "key"`);
    await work({});
    expect((await shown()).error).toBe('');
  });
});
