import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempMetadata, type TempMetadata } from '../../../test/support/metadata.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { openSqlite } from '../../stores/metadata/sqlite.ts';
import { createRegistry } from '../../plugins/plugin-registry.ts';
import { SandboxError } from '../../plugins/sandbox/sandbox.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { addDeliveries } from './deliveries.ts';
import { enqueuePluginJob } from './enqueue-plugin-job.ts';
import { enqueue, findJob, listJobs, type Job } from './queue.ts';
import { startJobRunner } from './runner.ts';
import {
  addApp,
  addProject,
  changeApp,
  deliveryEvent,
  errorOf,
  failuresOf,
  fakeSandbox,
  retryError,
  sharedClock,
} from '../../../test/support/jobs.ts';
import {
  testClock,
  thrownError,
  type FakePlugin,
  type FakeSandbox,
  type NewApp,
  type TestClock,
} from '../../../test/support/jobs.ts';

// Real: SQLite, queue, schedules, runner and its timers (short ones). Doubled: the sandbox, because it has to fail on
// request, and the time of day, which is fixed until a test changes it.

let store: TempMetadata;
let projectId: number;
let clock: TestClock;
beforeEach(async () => {
  store = await tempMetadata();
  projectId = await addProject(store.db);
  clock = testClock();
});
afterEach(() => store[Symbol.asyncDispose]());

function startRunner(sandbox: FakeSandbox, db: Metadata = store.db) {
  const stop = new AbortController();
  const { sandbox: port, services, loadProgram } = sandbox;
  const runner = startJobRunner({
    db,
    clock,
    databaseClock: sharedClock(clock),
    registry: createRegistry([]),
    accept: async () => undefined,
    log: createLog('silent'),
    signal: stop.signal,
    installed: { sandbox: port, services, loadProgram },
    pollMs: 10,
    leaseMs: 1000,
  });
  const end = async (): Promise<void> => {
    stop.abort();
    await runner.done;
  };
  return { end, [Symbol.asyncDispose]: end };
}

/** Creates a plugin whose calls all run `act`. */
function plugin(act: FakePlugin['call'], jobs = ['sync']): FakeSandbox {
  return fakeSandbox({ jobs, ...(act === undefined ? {} : { call: act }) });
}

function configure(app: NewApp = {}): Promise<number> {
  return addApp(store.db, projectId, { capabilities: { jobs: ['sync'] }, now: clock.now() - 1000, ...app });
}

function startOne(configId: number, type = 'sync'): Promise<string> {
  const job = { projectId, configId, type, operation: 'start', payload: { page: 1 }, now: clock.now() };
  return enqueue(store.db, job);
}

async function until<Value>(what: string, find: () => Promise<Value | undefined>): Promise<Value> {
  for (let tries = 0; tries < 1500; tries++) {
    const found = await find();
    if (found !== undefined) return found;
    await sleep(10);
  }
  throw new Error(`expected ${what} within 15 s`);
}

const stateOf = (id: string, ...states: readonly Job['state'][]): Promise<Job> =>
  until(`the job to be ${states.join(' or ')}`, async () => {
    const job = await findJob(store.db, projectId, id);
    return job !== undefined && states.includes(job.state) ? job : undefined;
  });
const ended = (id: string): Promise<Job> => stateOf(id, 'succeeded', 'failed');

async function jobsOf(configId: number): Promise<Job[]> {
  const { jobs } = await listJobs(store.db, { projectId, configId }, { limit: 100, offset: 0 });
  const found = await Promise.all(jobs.map(({ id }) => findJob(store.db, projectId, id)));
  return found.filter((job) => job !== undefined);
}

describe('jobs of installed plugins', () => {
  it('run on their instance with their payload and are counted', async () => {
    const id = await configure();
    const sandbox = plugin(async () => 'done');
    await using _runner = startRunner(sandbox);
    expect(await ended(await startOne(id))).toMatchObject({ state: 'succeeded', attempts: 1 });
    expect(sandbox.calls).toEqual([{ configId: id, target: { kind: 'job', name: 'sync', payload: { page: 1 } } }]);
    const metrics = await store.db.selectFrom('plugin_metrics').selectAll().execute();
    expect(metrics).toMatchObject([{ config_id: id, succeeded: 1, failed: 0 }]);
  });

  it('a RetryError is retried after 3, 6, 12 s … up to 15 attempts', async () => {
    const id = await configure();
    const sandbox = plugin(async () => {
      throw retryError('later', 'sync');
    });
    await using _runner = startRunner(sandbox);
    const job = await startOne(id);
    for (let attempt = 1; attempt < 15; attempt += 1) {
      const waiting = await until(`attempt ${attempt} to end`, async () => {
        const found = await findJob(store.db, projectId, job);
        return found?.state === 'queued' && found.attempts === attempt ? found : undefined;
      });
      const delay = Date.parse(waiting.runAt) - clock.now();
      expect(delay).toBe(3000 * 2 ** (attempt - 1));
      expect(await errorOf(store.db, id)).toBe('job "sync" failed: later');
      clock.advance(delay);
    }
    expect(await ended(job)).toMatchObject({ state: 'failed', attempts: 15, error: 'later' });
    expect(sandbox.calls).toHaveLength(15);
  });

  it('any other error fails immediately and is recorded: job, config, log, errors, metrics', async () => {
    const id = await configure();
    const sandbox = plugin(async () => {
      throw thrownError('x is not a function');
    });
    await using _runner = startRunner(sandbox);
    const failed = { state: 'failed', attempts: 1, error: 'x is not a function' };
    expect(await ended(await startOne(id))).toMatchObject(failed);
    expect(await errorOf(store.db, id)).toBe('job "sync" failed: x is not a function');
    const failure = { config_id: id, method: 'sync', name: 'TypeError', stack: 'at index.js:1' };
    expect(await failuresOf(store.db)).toMatchObject([failure]);
    await until('the log line', async () => sandbox.lines.find(({ source }) => source === 'PLUGIN'));
    const metrics = await store.db.selectFrom('plugin_metrics').selectAll().execute();
    expect(metrics).toMatchObject([{ succeeded: 0, failed: 1 }]);
  });

  it('a crash of the plugin process, which another config may have caused, is retried a limited number of times', async () => {
    const id = await configure();
    const sandbox = plugin(async () => {
      throw new SandboxError('crashed', 'the process ended', { method: 'sync' });
    });
    await using _runner = startRunner(sandbox);
    const job = await startOne(id);
    for (let attempt = 1; attempt < 3; attempt += 1) {
      await until(`attempt ${attempt}`, async () => (sandbox.calls.length === attempt ? true : undefined));
      await stateOf(job, 'queued');
      clock.advance(60_000);
    }
    expect(await ended(job)).toMatchObject({ state: 'failed', attempts: 3 });
  });

  it('a job started by a user runs although the config is disabled; one that the plugin scheduled does not', async () => {
    const id = await configure({ enabled: false });
    const sandbox = plugin(async () => null);
    await using _runner = startRunner(sandbox);
    expect(await ended(await startOne(id))).toMatchObject({ state: 'succeeded' });
    const order = { name: 'sync', payload: {}, runAt: clock.now() };
    const putOff = await enqueuePluginJob(store.db, { configId: id, projectId }, order, clock.now());
    expect(await ended(putOff)).toMatchObject({ state: 'failed', error: 'the config is disabled' });
    await changeApp(store.db, id, { deleted: 1 }, clock.now());
    const binned = await enqueuePluginJob(store.db, { configId: id, projectId }, order, clock.now());
    expect(await ended(binned)).toMatchObject({ state: 'failed', error: 'the config is in the bin' });
    expect(sandbox.calls).toHaveLength(1);
    expect(sandbox.closed).toEqual([id]);
    expect(await errorOf(store.db, id)).toBe('');
  });

  it('a scheduled task can be started out of turn; an unknown job fails immediately', async () => {
    const id = await configure();
    const sandbox = plugin(async () => null);
    await using _runner = startRunner(sandbox);
    expect(await ended(await startOne(id, 'runEveryDay'))).toMatchObject({ state: 'succeeded' });
    expect(sandbox.calls).toMatchObject([{ target: { kind: 'scheduled', name: 'runEveryDay' } }]);
    expect(await ended(await startOne(id, 'dance'))).toMatchObject({ error: 'plugin "App" has no job "dance"' });
  });

  it('a job waits while the setup is retried, which costs no attempt', async () => {
    const id = await configure();
    let healthy = false;
    const sandbox = fakeSandbox({
      jobs: ['sync'],
      setup: () => {
        if (!healthy) throw retryError('asleep');
      },
    });
    await using _runner = startRunner(sandbox);
    const job = await startOne(id);
    await until('the job to be postponed', async () => {
      const found = await findJob(store.db, projectId, job);
      return found?.error.startsWith('asleep') === true ? found : undefined;
    });
    healthy = true;
    clock.advance(10_000);
    expect(await ended(job)).toMatchObject({ state: 'succeeded', attempts: 1, error: '' });
  });

  it('a config deleted during its job leaves no counts and no errors behind', async () => {
    const id = await configure();
    const sandbox = plugin(async () => {
      await store.db.deleteFrom('plugin_configs').where('id', '=', id).execute();
      throw thrownError('no');
    });
    await using _runner = startRunner(sandbox);
    expect(await ended(await startOne(id))).toMatchObject({ state: 'failed', error: 'no' });
    expect(await store.db.selectFrom('plugin_metrics').selectAll().execute()).toEqual([]);
    expect(await failuresOf(store.db)).toEqual([]);
  });

  it('stopping aborts the call, releases the job and tears everything down', async () => {
    const id = await configure();
    const { promise: began, resolve: begin } = Promise.withResolvers<undefined>();
    const sandbox = plugin(async (_target, signal) => {
      begin(undefined);
      await new Promise((resolve) => {
        signal.addEventListener('abort', resolve);
      });
      throw new SandboxError('aborted', 'the caller gave up', { method: 'sync' });
    });
    const runner = startRunner(sandbox);
    const job = await startOne(id);
    await began;
    await runner.end();
    expect(await findJob(store.db, projectId, job)).toMatchObject({ state: 'queued', attempts: 0, error: '' });
    expect(sandbox.closed).toEqual([id]);
  });

  it('eight long jobs delay neither the schedules nor the deliveries of others', async () => {
    const long = await Promise.all(Array.from({ length: 8 }, () => configure({ enabled: false })));
    const { promise: held, resolve: finish } = Promise.withResolvers<null>();
    const sandbox = plugin(async (target) => (target.kind === 'job' ? held : null));
    await using _runner = startRunner(sandbox);
    const jobs = await Promise.all(long.map((id) => startOne(id)));
    await until('eight jobs to run', async () => (sandbox.calls.length === 8 ? true : undefined));
    const id = await configure({ capabilities: { methods: ['onEvent'], scheduled_tasks: ['runEveryMinute'] } });
    const delivery = { configId: id, projectId, method: 'onEvent', events: [deliveryEvent('e')] } as const;
    await store.db.transaction().execute((tx) => addDeliveries(tx, [delivery], clock.now()));
    clock.advance(60_000);
    const kinds = ['onEvent', 'scheduled'];
    await until('tick and delivery', async () =>
      kinds.every((kind) => sandbox.calls.some(({ target }) => target.kind === kind)) ? true : undefined,
    );
    finish(null);
    for (const job of jobs) expect((await ended(job)).state).toBe('succeeded');
  });
});

describe('schedules at work', () => {
  it('a failed tick is recorded and runs again at the next tick, not by retries; success clears the error', async () => {
    const id = await configure({ capabilities: { scheduled_tasks: ['runEveryMinute'] } });
    let healthy = false;
    const sandbox = plugin(async () => {
      if (!healthy) throw retryError('source gone', 'runEveryMinute');
    });
    await using _runner = startRunner(sandbox);
    clock.advance(60_000);
    const error = await until('the error', async () => (await errorOf(store.db, id)) || undefined);
    expect(error).toBe('runEveryMinute failed: source gone');
    const [failed] = await jobsOf(id);
    expect(failed).toMatchObject({ kind: 'scheduled', type: 'runEveryMinute', state: 'failed', attempts: 1 });
    healthy = true;
    clock.advance(60_000);
    await until('the recovery', async () => ((await errorOf(store.db, id)) === '' ? true : undefined));
  });

  it('two runners on one database run every tick once', async () => {
    const ids = await Promise.all(
      Array.from({ length: 3 }, () =>
        configure({ capabilities: { scheduled_tasks: ['runEveryMinute'] }, now: clock.now() + 1 }),
      ),
    );
    const ran: number[] = [];
    const twin = (): FakeSandbox =>
      plugin(async (_target, _signal, { configId }) => {
        ran.push(configId);
        await sleep(20);
      });
    const other = openSqlite(store.file);
    try {
      await using _one = startRunner(twin());
      await using _two = startRunner(twin(), other);
      for (let minute = 0; minute < 5; minute += 1) {
        clock.advance(60_000);
        await until('three runs', async () => (ran.length >= 3 * (minute + 1) ? true : undefined));
        await until('their outcomes', async () => {
          const jobs = await Promise.all(ids.map(jobsOf));
          return jobs.flat().every(({ state }) => state === 'succeeded') ? true : undefined;
        });
      }
    } finally {
      await other.destroy();
    }
    for (const id of ids) {
      const ticks = await jobsOf(id);
      expect(ticks.length).toBe(5);
      expect(new Set(ticks.map(({ payload }) => payload['tick'])).size).toBe(ticks.length);
      expect(ticks.every(({ state, attempts }) => state === 'succeeded' && attempts === 1)).toBe(true);
      expect(ran.filter((configId) => configId === id)).toHaveLength(ticks.length);
    }
  });
});

describe('deliveries at work', () => {
  it('arrive in order across jobs and retries, and leave no rows', async () => {
    const id = await configure({ capabilities: { methods: ['exportEvents'] } });
    const seen: string[] = [];
    let refusals = 2;
    const sandbox = plugin(async (target) => {
      if (target.kind !== 'exportEvents') return;
      if (target.events[0]?.event === 'b' && refusals-- > 0) throw retryError('busy', 'exportEvents');
      seen.push(...target.events.map(({ event }) => event));
    });
    await store.db.transaction().execute(async (tx) => {
      for (const name of ['a', 'b', 'c', 'd']) {
        const events = [deliveryEvent(name), deliveryEvent(`${name}2`)];
        await addDeliveries(tx, [{ configId: id, projectId, method: 'exportEvents', events }], clock.now());
      }
    });
    await using _runner = startRunner(sandbox);
    for (const refused of [1, 0]) {
      await until(`refusal, ${refused} to go`, async () => (refusals === refused ? true : undefined));
      await until('it to wait', async () => (await jobsOf(id)).find(({ error }) => error === 'busy'));
      expect(seen).toEqual(['a', 'a2']);
      await sleep(50);
      clock.advance(10_000);
    }
    await until('all to go', async () => ((await jobsOf(id)).length === 0 ? true : undefined));
    expect(seen).toEqual(['a', 'a2', 'b', 'b2', 'c', 'c2', 'd', 'd2']);
    const metrics = await store.db.selectFrom('plugin_metrics').select('succeeded').execute();
    expect(metrics.reduce((sum, { succeeded }) => sum + Number(succeeded), 0)).toBe(8);
    expect(await errorOf(store.db, id)).toBe('');
  });

  it('a permanently failed one is kept with its events, and the next is delivered', async () => {
    const id = await configure({ capabilities: { methods: ['exportEvents'] } });
    const sandbox = plugin(async (target) => {
      if (target.kind === 'exportEvents' && target.events[0]?.event === 'bad') throw thrownError('no', 'exportEvents');
    });
    await store.db.transaction().execute(async (tx) => {
      for (const name of ['bad', 'good']) {
        const events = [deliveryEvent(name)];
        await addDeliveries(tx, [{ configId: id, projectId, method: 'exportEvents', events }], clock.now());
      }
    });
    await using _runner = startRunner(sandbox);
    const rows = await until('one row to be left', async () => {
      const jobs = await jobsOf(id);
      return jobs.length === 1 ? jobs : undefined;
    });
    expect(rows).toMatchObject([{ state: 'failed', error: 'no', payload: { events: [{ event: 'bad' }] } }]);
    expect(await failuresOf(store.db)).toHaveLength(1);
  });
});
