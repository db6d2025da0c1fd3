import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { createRegistry } from '../../plugins/plugin-registry.ts';
import type { SandboxEvent } from '../../plugins/sandbox/sandbox.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { EventRowWriter } from '../../stores/events/rows.ts';
import { createDatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { EventReplaySpec } from '../../wire/contract/event-replays.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import {
  addApp,
  addProject,
  changeApp,
  fakeSandbox,
  thrownError,
  type FakePlugin,
} from '../../../test/support/jobs.ts';
import { tempMetadata, type TempMetadata } from '../../../test/support/metadata.ts';
import { retryJob } from '../jobs/change-job.ts';
import { startJobRunner } from '../jobs/runner.ts';
import { runTasks } from '../tasks/task-runner.ts';
import { cancelTask, enqueueTask, findTask } from '../tasks/task-store.ts';
import type { TaskKind } from '../tasks/task.ts';
import { createReplays, replayKind } from './replay-events.ts';

// Real: SQLite, chDB, tasks, jobs and their runners. Doubled: the sandbox, because it has to fail on request.

let chdb: TempChdb;
let store: TempMetadata;
let projectId: number;
let stops: AbortController[];
let tests = 0;
let running: Promise<unknown>[];
beforeAll(async () => {
  chdb = await tempChdb();
});
afterAll(() => chdb.close());
beforeEach(async () => {
  store = await tempMetadata();
  // All tests share the event store, so each has another project.
  tests += 1;
  for (let projects = 0; projects < tests; projects += 1) projectId = await addProject(store.db);
  stops = [];
  running = [];
});
afterEach(async () => {
  for (const stop of stops) stop.abort();
  await Promise.all(running);
  await store[Symbol.asyncDispose]();
});

const dayMicros = 86_400_000_000;
const first = Date.parse('2024-03-01T00:00:00Z') * 1000;
const long = '1234567890123456';
interface Given {
  readonly n: number;
  readonly event?: string;
  readonly receivedAt?: number;
}

/** Events of several days, in another order than that of their time. */
async function storeEvents(events: readonly Given[], token: string): Promise<void> {
  const writer = new EventRowWriter();
  for (const { n, event = 'seen', receivedAt = first } of events) {
    const timestampMicros = first + n * 7_000_000_001;
    writer.write({
      projectId,
      historical: n % 2 === 0,
      receivedAtMicros: receivedAt,
      timestampMicros,
      keyDay: Math.floor(timestampMicros / dayMicros),
      uuid: `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`,
      event,
      distinctId: `p'${n % 5} "é"`,
      properties: `{"n":${n},"id":${long}${String(n).padStart(4, '0')}}`,
    });
  }
  await chdb.store.insertBatch(writer.take(), `${token}-${projectId}`);
}

const numbers = (count: number): Given[] => Array.from({ length: count }, (_, n) => ({ n: (n * 7) % count }));

function startJobs(call: FakePlugin['call']): void {
  const stop = new AbortController();
  stops.push(stop);
  const { sandbox, services, loadProgram } = fakeSandbox(call === undefined ? {} : { call });
  const runner = startJobRunner({
    db: store.db,
    clock: systemClock,
    registry: createRegistry([]),
    accept: async () => undefined,
    log: createLog('silent'),
    signal: stop.signal,
    installed: { sandbox, services, loadProgram },
    pollMs: 5,
  });
  running.push(runner.done);
}

function startTasks(): AbortController {
  const stop = new AbortController();
  stops.push(stop);
  const { db } = store;
  const clock = createDatabaseClock(db);
  const replays = createReplays({ db, store: chdb.store, idsOfPerson: async () => [`p'1 "é"`], clock, pollMs: 5 });
  const deps = { db, log: createLog('silent'), signal: stop.signal, pollMs: 5, retryMs: 1 };
  running.push(runTasks(deps, [replays as TaskKind]));
  return stop;
}

async function configure(methods: string[] = ['onEvent']): Promise<number> {
  return addApp(store.db, projectId, { capabilities: { methods }, now: Date.now() - 1000 });
}

function begin(spec: Pick<EventReplaySpec, 'plugin_config'> & Partial<EventReplaySpec>): Promise<string> {
  const whole: EventReplaySpec = { method: 'onEvent', selection: {}, ...spec };
  return enqueueTask(store.db, { projectId, kind: replayKind, spec: whole, createdBy: null, now: Date.now() });
}

const taskOf = (id: string) => findTask(store.db, { projectId, kind: replayKind }, id);
const reaches = (id: string, state: string) =>
  expect.poll(async () => (await taskOf(id))?.state, { timeout: 60_000, interval: 10 }).toBe(state);

function eventsIn(target: Parameters<NonNullable<FakePlugin['call']>>[0]): readonly SandboxEvent[] {
  return 'events' in target ? target.events : [];
}

describe('replays of stored events', () => {
  it('pass each event of the selection once, oldest first and as stored, also when the worker changes', async () => {
    await storeEvents(numbers(1300), 'a');
    const seen: SandboxEvent[] = [];
    const id = await begin({
      plugin_config: await configure(['exportEvents']),
      method: 'exportEvents',
      selection: { historical_migration: true },
    });
    startJobs(async (target) => void seen.push(...eventsIn(target)));
    for (let workers = 0; workers < 3; workers += 1) {
      const stop = startTasks();
      const passed = async () => JSON.stringify((await taskOf(id))?.progress ?? null);
      const before = await passed();
      await expect.poll(passed, { interval: 2, timeout: 60_000 }).not.toBe(before);
      if (workers < 2) stop.abort();
    }
    await reaches(id, 'done');
    const expected = Array.from({ length: 650 }, (_, half) => half * 2);
    expect(seen.map(({ propertiesText }) => propertiesText)).toEqual(
      expected.map((n) => `{"n":${n},"id":${long}${String(n).padStart(4, '0')}}`),
    );
    expect(seen[1]).toMatchObject({
      uuid: '01890000-0000-7000-8000-000000000002',
      distinctId: `p'2 "é"`,
      timestamp: '2024-03-01T03:53:20.000002Z',
      receivedAt: first / 1000,
      teamId: projectId,
    });
    expect((await taskOf(id))?.result).toEqual({ total: 650, delivered: 650, failed: 0, failed_jobs: [] });
  });

  it('rejected events are counted and kept as failed jobs that can be retried; the others are delivered', async () => {
    await storeEvents([{ n: 1 }, { n: 2, event: 'bad' }, { n: 3 }], 'b');
    let isBad = true;
    const seen: string[] = [];
    startJobs(async (target) => {
      const [event] = eventsIn(target);
      if (event?.event === 'bad' && isBad) throw thrownError('no', 'onEvent');
      seen.push(event?.uuid.slice(-1) ?? '');
    });
    const id = await begin({ plugin_config: await configure() });
    startTasks();
    await reaches(id, 'done');
    const result = (await taskOf(id))?.result as { failed_jobs: string[] };
    expect(result).toMatchObject({ total: 3, delivered: 2, failed: 1, failed_jobs: [expect.any(String)] });
    isBad = false;
    const actor = { organizationId: 'o', userId: null, keyId: null, requestId: null };
    const order = { projectId, id: result.failed_jobs[0] ?? '', actor, now: Date.now() };
    expect(await store.db.transaction().execute((tx) => retryJob(tx, order))).toMatchObject({ kind: 'changed' });
    await expect.poll(() => seen, { timeout: 10_000 }).toEqual(['1', '3', '2']);
  });

  it('exclude events that are received after the start, which the plugin gets live', async () => {
    const later = (Date.now() + 60_000) * 1000;
    await storeEvents([{ n: 1 }, { n: 2, receivedAt: later }, { n: 3 }], 'c');
    const seen: string[] = [];
    startJobs(async (target) => void seen.push(...eventsIn(target).map(({ uuid }) => uuid.slice(-1))));
    const id = await begin({ plugin_config: await configure() });
    startTasks();
    await reaches(id, 'done');
    expect(seen).toEqual(['1', '3']);
  });

  it('select the events of a person under all its ids', async () => {
    await storeEvents(numbers(10), 'd');
    const id = await begin({ plugin_config: await configure(), selection: { person_id: 'p' } });
    startJobs(async () => undefined);
    startTasks();
    await reaches(id, 'done');
    expect((await taskOf(id))?.result).toMatchObject({ total: 2, delivered: 2 });
  });

  it('fail, saying what to do, when the config is disabled', async () => {
    await storeEvents(numbers(3), 'e');
    const plugin_config = await configure();
    await changeApp(store.db, plugin_config, { enabled: 0 }, Date.now());
    const id = await begin({ plugin_config });
    startTasks();
    await reaches(id, 'failed');
    expect((await taskOf(id))?.error).toMatch(
      /expected config \d+ to be enabled, got .* start a replay of the remaining time/,
    );
  });

  it('cancelling ends the deliveries that have not begun', async () => {
    await storeEvents(numbers(2000), 'f');
    const id = await begin({ plugin_config: await configure(['exportEvents']), method: 'exportEvents' });
    startTasks();
    const pending = async () => ((await taskOf(id))?.progress as { pending?: unknown[] } | undefined)?.pending?.length;
    await expect.poll(pending, { timeout: 60_000 }).toBe(4);
    expect(await cancelTask(store.db, { projectId, kind: replayKind }, id, Date.now())).toBe(true);
    const queued = () => store.db.selectFrom('jobs').select('id').where('state', '=', 'queued').execute();
    await expect.poll(queued, { timeout: 60_000 }).toEqual([]);
    const ended = await store.db.selectFrom('jobs').select('error').distinct().execute();
    expect(ended).toEqual([{ error: 'the replay was cancelled' }]);
  });

  it('keep to the requested speed', async () => {
    await storeEvents(numbers(60), 'g');
    startJobs(async () => undefined);
    const id = await begin({ plugin_config: await configure(), events_per_second: 20 });
    const startedAt = performance.now();
    startTasks();
    await reaches(id, 'done');
    // Three pages of 20, with a second between two of them.
    expect(performance.now() - startedAt).toBeGreaterThan(1900);
  });
});
