import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempMetadata, type TempMetadata } from '../../../test/support/metadata.ts';
import { systemClock } from '../../base/clock.ts';
import type { AcceptedBatch } from '../../wire/batch/ingest.ts';
import { createOrganization } from '../../stores/metadata/organizations.ts';
import { createProject } from '../../stores/metadata/projects.ts';
import { createConfig } from '../../plugins/configs/create-config.ts';
import type { Work } from '../../plugins/configs/save-changes.ts';
import { fetchImport } from '../../../test/support/plugin-rows.ts';
import { secretMask, type SettingValues } from '../../plugins/fields.ts';
import type { JobContext } from '../../plugins/plugin.ts';
import { createRegistry } from '../../plugins/plugin-registry.ts';
import { syncPlugins } from '../../plugins/built-in/sync-plugins.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { claim, enqueue, findJob, moveJobs, type Job } from './queue.ts';
import { startJobRunner } from './runner.ts';

// Real: SQLite, queue, runner and its timers (short ones). Doubled: the plugin's job and ingest.

let store: TempMetadata;
let projectId: number;
let organizationId: string;
beforeEach(async () => {
  store = await tempMetadata();
  const now = Date.now();
  organizationId = (await createOrganization(store.db, { name: 'o' }, now)).id;
  projectId = (await createProject(store.db, { organizationId, name: 'p' }, now)).id;
  await syncPlugins(store.db, [fetchImport()], now);
});
afterEach(() => store[Symbol.asyncDispose]());

async function newConfig(settings: SettingValues): Promise<number> {
  const { id: plugin } = await store.db.selectFrom('plugins').select('id').executeTakeFirstOrThrow();
  const actor = { organizationId, userId: null, keyId: null, requestId: null };
  const { id } = await store.db.transaction().execute((tx) => {
    const work: Work = { tx, actor, projectId, now: Date.now(), trial: () => '' };
    return createConfig(work, 'import-app', { plugin });
  });
  await store.db
    .updateTable('plugin_configs')
    .set({ settings: JSON.stringify(settings) })
    .where('id', '=', id)
    .execute();
  return id;
}

function order(configId: number, type = 'run'): Promise<string> {
  return enqueue(store.db, { projectId, configId, type, operation: 'start', payload: { n: 1 }, now: Date.now() });
}

function startRunner(run: (context: JobContext) => Promise<void>, accept: (batch: AcceptedBatch) => Promise<void>) {
  const stop = new AbortController();
  const runner = startJobRunner({
    db: store.db,
    clock: systemClock,
    registry: createRegistry([fetchImport(run)]),
    accept,
    log: createLog('silent'),
    signal: stop.signal,
    pollMs: 10,
    leaseMs: 1000,
    retryMs: 5,
  });
  return {
    stop: () => stop.abort(),
    done: runner.done,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await runner.done;
    },
  };
}

async function ended(id: string): Promise<Job> {
  for (let tries = 0; tries < 1500; tries++) {
    const job = await findJob(store.db, projectId, id);
    if (job?.state === 'succeeded' || job?.state === 'failed') return job;
    await sleep(10);
  }
  throw new Error('expected the job to end within 15 s');
}

async function errorOf(configId: number): Promise<string> {
  const query = store.db.selectFrom('plugin_configs').select('error').where('id', '=', configId);
  return (await query.executeTakeFirstOrThrow()).error;
}

const refuseBatches = async (): Promise<void> => {
  throw new Error('expected no batch');
};

describe('the job runner', () => {
  it('runs a job with settings, defaults and payload, and ingests its batches', async () => {
    const id = await newConfig({ bucket: 'b' });
    const batch: AcceptedBatch = {
      lane: 'historical',
      projectId,
      body: Buffer.from('{}'),
      encoding: 'identity',
      events: 1,
      receivedAt: 1,
      requestId: 'r',
    };
    const accepted: AcceptedBatch[] = [];
    const seen: unknown[] = [];
    await using _runner = startRunner(
      async ({ settings, payload, accept }) => {
        seen.push({ settings, payload });
        await accept(batch);
      },
      async (given) => void accepted.push(given),
    );
    expect(await ended(await order(id))).toMatchObject({ state: 'succeeded', attempts: 1 });
    expect(seen).toEqual([{ settings: { bucket: 'b', region: 'eu' }, payload: { n: 1 } }]);
    expect(accepted).toEqual([batch]);
  });

  it('retries after a failure; the config shows the error without the secret until a run succeeds', async () => {
    const id = await newConfig({ bucket: 'b', token: 'hunter2' });
    let tries = 0;
    const errors: string[] = [];
    await using _runner = startRunner(async ({ settings }) => {
      errors.push(await errorOf(id));
      if (++tries < 3) throw new Error(`source said no to ${String(settings['token'])}`);
    }, refuseBatches);
    expect(await ended(await order(id))).toMatchObject({ state: 'succeeded', attempts: 3, error: '' });
    const said = `job "run" failed: source said no to ${secretMask}`;
    expect(errors).toEqual(['', said, said]);
    expect(await errorOf(id)).toBe('');
    const log = await store.db.selectFrom('activity_log').select(['activity', 'is_system']).orderBy('id').execute();
    expect(log.slice(1)).toMatchObject([
      { activity: 'failed', is_system: 1 },
      { activity: 'recovered', is_system: 1 },
    ]);
  });

  it.each([
    ['a missing setting', {}, 'run', 'missing required setting "bucket"'],
    ['a job that the plugin does not have', { bucket: 'b' }, 'dance', 'plugin "Fetch" has no job "dance"'],
    ['a job named like a method of every object', { bucket: 'b' }, 'constructor', 'has no job "constructor"'],
  ])('%s fails immediately with the reason', async (_name, settings, type, error) => {
    const id = await newConfig(settings);
    await using _runner = startRunner(async () => undefined, refuseBatches);
    const job = await ended(await order(id, type));
    expect(job).toMatchObject({ state: 'failed', attempts: 1 });
    expect(job.error).toContain(error);
    expect(await errorOf(id)).toContain(error);
  });

  it('a config that was deleted ends its job', async () => {
    await using _runner = startRunner(async () => undefined, refuseBatches);
    expect(await ended(await order(4711))).toMatchObject({ state: 'failed', error: 'the config was deleted' });
  });

  it('jobs of one config run one after the other, jobs of two run concurrently', async () => {
    const [one, two] = [await newConfig({ bucket: 'one' }), await newConfig({ bucket: 'two' })];
    const running = new Map<string, number>();
    let together = 0;
    const overlaps: string[] = [];
    await using _runner = startRunner(async ({ settings }) => {
      const bucket = String(settings['bucket']);
      if ((running.get(bucket) ?? 0) > 0) overlaps.push(bucket);
      running.set(bucket, 1);
      together = Math.max(together, [...running.values()].filter((count) => count > 0).length);
      await sleep(60);
      running.set(bucket, 0);
    }, refuseBatches);
    const ids = [await order(one), await order(one), await order(two), await order(two)];
    for (const id of ids) expect((await ended(id)).state).toBe('succeeded');
    expect(overlaps).toEqual([]);
    expect(together).toBe(2);
  });

  it('a run longer than the lease keeps it', async () => {
    const id = await newConfig({ bucket: 'b' });
    let runs = 0;
    await using _runner = startRunner(async () => {
      runs++;
      await sleep(1600);
    }, refuseBatches);
    expect(await ended(await order(id))).toMatchObject({ state: 'succeeded', attempts: 1 });
    expect(runs).toBe(1);
  });

  it('stopping releases the job immediately; the next process runs it from the start', async () => {
    const id = await newConfig({ bucket: 'b' });
    const jobId = await order(id);
    const { promise: began, resolve: begin } = Promise.withResolvers<undefined>();
    const first = startRunner(async ({ signal }) => {
      begin(undefined);
      await sleep(60_000, undefined, { signal });
    }, refuseBatches);
    await began;
    first.stop();
    await first.done;
    expect(await findJob(store.db, projectId, jobId)).toMatchObject({ state: 'queued', attempts: 0, error: '' });
    await using _second = startRunner(async () => undefined, refuseBatches);
    expect((await ended(jobId)).state).toBe('succeeded');
  });

  it('a job whose process died is claimed again a limited number of times', async () => {
    const id = await newConfig({ bucket: 'b' });
    const jobId = await order(id);
    const past = Date.now() + 10;
    await claim(store.db, past, 1);
    let runs = 0;
    await using _runner = startRunner(async () => void runs++, refuseBatches);
    expect(await ended(jobId)).toMatchObject({ state: 'succeeded', attempts: 2 });
    const doomed = await store.db.transaction().execute(async (tx) => {
      const now = Date.now();
      const made = await enqueue(tx, { projectId, configId: id, type: 'run', operation: 'start', payload: {}, now });
      const row = { attempts: 5, lease_until: '2020-01-01T00:00:00.000000Z' };
      await moveJobs(tx, 'claim', row).where('id', '=', made).execute();
      return made;
    });
    expect(await ended(doomed)).toMatchObject({
      state: 'failed',
      error: 'the process ended in every attempt',
    });
    expect(runs).toBe(1);
  });
});
