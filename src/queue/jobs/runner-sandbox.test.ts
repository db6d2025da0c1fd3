import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempMetadata, type TempMetadata } from '../../../test/support/metadata.ts';
import { systemClock } from '../../base/clock.ts';
import { createStorage } from '../../plugins/services/storage.ts';
import { createRegistry } from '../../plugins/plugin-registry.ts';
import { createSandbox, type IsolatedSandbox } from '../../plugins/sandbox/create-sandbox.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { addDeliveries } from './deliveries.ts';
import { enqueuePluginJob } from './enqueue-plugin-job.ts';
import { enqueue, findJob, listJobs, type Job } from './queue.ts';
import { startJobRunner } from './runner.ts';
import { addApp, addProject, deliveryEvent, errorOf, fakeSandbox } from '../../../test/support/jobs.ts';

// Everything real: isolates, SQLite, storage, queue, runner.

const log = createLog('silent');
let store: TempMetadata;
let projectId: number;
let sandbox: IsolatedSandbox;
beforeEach(async () => {
  store = await tempMetadata();
  projectId = await addProject(store.db);
  sandbox = createSandbox({
    memoryBytesMax: 64 * 1024 * 1024,
    processBytesMax: 1024 * 1024 * 1024,
    cpuMs: 250,
    waitMs: 5000,
    taskMs: 10_000,
    instancesMax: 10,
    idleMs: 60_000,
    outbound: { allow: '', timeoutMs: 1000, bytesMax: 1_000_000 },
    geoipDatabase: '',
    log,
  });
});
afterEach(async () => {
  await sandbox.close();
  await store[Symbol.asyncDispose]();
});

function startRunner(code: string) {
  const stop = new AbortController();
  const { services } = fakeSandbox();
  const runner = startJobRunner({
    db: store.db,
    clock: systemClock,
    registry: createRegistry([]),
    accept: async () => undefined,
    log,
    signal: stop.signal,
    installed: {
      sandbox,
      loadProgram: async () => ({ pluginName: 'App', code }),
      services: (config) => ({
        ...services(config),
        storage: createStorage(store.db, { configId: config.id, projectId }),
        async enqueueJob(job) {
          await enqueuePluginJob(store.db, { configId: config.id, projectId }, job, Date.now());
        },
      }),
    },
    pollMs: 20,
  });
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await runner.done;
    },
  };
}

async function until<Value>(what: string, find: () => Promise<Value | undefined>): Promise<Value> {
  for (let tries = 0; tries < 1000; tries++) {
    const found = await find();
    if (found !== undefined) return found;
    await sleep(10);
  }
  throw new Error(`expected ${what} within 10 s`);
}

async function ended(id: string): Promise<Job> {
  return until('the job to end', async () => {
    const job = await findJob(store.db, projectId, id);
    return job?.state === 'succeeded' || job?.state === 'failed' ? job : undefined;
  });
}

function startOne(configId: number, type: string, payload: Job['payload'] = {}): Promise<string> {
  return enqueue(store.db, { projectId, configId, type, operation: 'start', payload, now: Date.now() });
}

describe('an import app in the sandbox', () => {
  it('is set up, runs its jobs, and its jobs start others with stored values', async () => {
    const code = `
      module.exports.setupPlugin = async (meta) => { await meta.storage.set('pages', []) }
      module.exports.jobs = {
        fetchPage: async ({ page }, meta) => {
          const pages = await meta.storage.get('pages', [])
          await meta.storage.set('pages', [...pages, page])
          if (page < 3) await meta.jobs.fetchPage({ page: page + 1 }).runNow()
        },
      }`;
    const id = await addApp(store.db, projectId, { capabilities: { jobs: ['fetchPage'] } });
    await using _runner = startRunner(code);
    expect(await ended(await startOne(id, 'fetchPage', { page: 1 }))).toMatchObject({ state: 'succeeded', error: '' });
    const storage = createStorage(store.db, { configId: id, projectId });
    await until('three pages', async () => {
      const pages = await storage.get('pages');
      return JSON.stringify(pages) === '[1,2,3]' ? true : undefined;
    });
    const { jobs } = await listJobs(store.db, { projectId, kind: 'enqueued' }, { limit: 10, offset: 0 });
    expect(jobs).toHaveLength(2);
  });

  it('its schedule and its onEvent run, and its errors name the cause', async () => {
    const code = `
      async function runEveryDay(meta) { await meta.storage.set('ran', true) }
      async function onEvent(event, meta) {
        if (event.event === 'bad') throw new Error('no bad events')
        await meta.utils.cursor.increment('seen')
      }
      module.exports = { runEveryDay, onEvent }`;
    const capabilities = { scheduled_tasks: ['runEveryDay'], methods: ['onEvent'] };
    const now = Date.now() - 86_400_000;
    const id = await addApp(store.db, projectId, { capabilities, now });
    await using _runner = startRunner(code);
    const storage = createStorage(store.db, { configId: id, projectId });
    await until('the tick', () => storage.get('ran'));
    const events = ['a', 'bad', 'b'].map((name) => deliveryEvent(name));
    const delivery = { configId: id, projectId, method: 'onEvent', events } as const;
    await store.db.transaction().execute((tx) => addDeliveries(tx, [delivery], Date.now()));
    await until('the good ones', async () => ((await storage.get('seen')) === 2 ? true : undefined));
    const error = await until('the error', async () => (await errorOf(store.db, id)) || undefined);
    expect(error).toBe('onEvent failed: no bad events');
  });

  it('an endless loop in a job fails that job; the next one runs', async () => {
    const code = `
      module.exports.jobs = { spin: async () => { for (;;) {} }, walk: async () => {} }`;
    const id = await addApp(store.db, projectId, { capabilities: { jobs: ['spin', 'walk'] } });
    await using _runner = startRunner(code);
    const spun = await startOne(id, 'spin');
    const walked = await startOne(id, 'walk');
    const failed = await ended(spun);
    expect(failed).toMatchObject({ state: 'failed' });
    expect(failed.error).toMatch(/comput|too long|ms/);
    expect(await ended(walked)).toMatchObject({ state: 'succeeded' });
  });
});
