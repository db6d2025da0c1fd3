import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  cancelTask,
  claimTask,
  completeTask,
  enqueueTask,
  findTask,
  listTasks,
  noteTaskError,
  saveTaskProgress,
  type ClaimedTask,
} from '../../../src/queue/tasks/task-store.ts';
import { taskFigures } from '../../../src/queue/tasks/task-figures.ts';
import { runTasks } from '../../../src/queue/tasks/task-runner.ts';
import { TaskFailedError, type HeldTask, type TaskKind } from '../../../src/queue/tasks/task.ts';
import { createLog } from '../../../src/server/telemetry/log.ts';
import type { Metadata } from '../../../src/stores/metadata/database.ts';

type Store = { readonly db: Metadata } & AsyncDisposable;
type Counting = HeldTask<{ readonly to: number }, { readonly at: number }>;

const projectId = 7;
const kind = 'count';
const of = { projectId, kind };

/** Background tasks on a real store, with two workers and a kind that counts. */
export function testTasks(open: () => Promise<Store>): void {
  let store: Store;
  let db: Metadata;
  let stops: AbortController[];
  let workers: Promise<void>[];
  beforeEach(async () => {
    store = await open();
    db = store.db;
    stops = [];
    workers = [];
  });
  afterEach(async () => {
    for (const stop of stops) stop.abort();
    await Promise.all(workers);
    await store[Symbol.asyncDispose]();
  });

  const start = (run: (task: Counting) => Promise<unknown>, more: Partial<TaskKind> = {}): AbortController => {
    const stop = new AbortController();
    stops.push(stop);
    const counting = { name: kind, run, ...more } as TaskKind;
    const deps = { db, log: createLog('silent'), signal: stop.signal, pollMs: 5, leaseMs: 300, retryMs: 1 };
    workers.push(runTasks(deps, [counting]));
    return stop;
  };
  const enqueue = (to: number, secrets: Record<string, string> = {}): Promise<string> =>
    enqueueTask(db, { ...of, spec: { to }, secrets, createdBy: null, now: Date.now() });
  const claimed = async (): Promise<ClaimedTask> => {
    const task = await claimTask(db, kind, { now: Date.now(), leaseMs: 60_000 });
    if (task === undefined) throw new Error('expected a task to claim');
    return task;
  };
  const stateOf = async (id: string) => (await findTask(db, of, id))?.state;
  const reaches = (id: string, state: string) => expect.poll(() => stateOf(id), { timeout: 10_000 }).toBe(state);

  describe('background tasks', () => {
    it('a task is executed once, by one of two workers, and keeps its result and no secret', async () => {
      const runs: string[] = [];
      const count = async (task: Counting): Promise<unknown> => {
        runs.push(`${task.id} ${task.secrets['key']}`);
        await task.save({ at: task.spec.to });
        return { counted: task.spec.to };
      };
      const ids = [await enqueue(1, { key: 's3cret' }), await enqueue(2, { key: 's3cret' })];
      start(count);
      start(count);
      for (const id of ids) await reaches(id, 'done');
      expect(runs.toSorted()).toEqual(ids.map((id) => `${id} s3cret`).toSorted());
      expect(await findTask(db, of, ids[1] ?? '')).toMatchObject({
        result: { counted: 2 },
        progress: { at: 2 },
        error: '',
      });
      expect(await db.selectFrom('tasks').select('secrets').distinct().execute()).toEqual([{ secrets: '{}' }]);
    });

    it('after errors it continues from the last saved progress', async () => {
      const seen: number[] = [];
      const id = await enqueue(3);
      start(async (task) => {
        const at = (task.progress?.at ?? 0) + 1;
        seen.push(at);
        await task.save({ at });
        if (at < task.spec.to) throw new Error('the store is away');
        return { at };
      });
      await reaches(id, 'done');
      expect(seen).toEqual([1, 2, 3]);
    });

    it('a worker that stops hands the task over with its progress', async () => {
      const id = await enqueue(2);
      const first = start(async (task) => {
        await task.save({ at: 1 });
        return new Promise((_, reject) => task.signal.addEventListener('abort', () => reject(new Error('stopped'))));
      });
      await expect.poll(async () => (await findTask(db, of, id))?.progress).toEqual({ at: 1 });
      first.abort();
      start(async ({ progress }) => ({ from: progress }));
      await reaches(id, 'done');
      expect((await findTask(db, of, id))?.result).toEqual({ from: { at: 1 } });
    });

    it('a worker that lost its task can write neither progress nor result', async () => {
      const id = await enqueue(1);
      const now = Date.now();
      const dead = await claimTask(db, kind, { now: now - 60_000, leaseMs: 1000 });
      const next = await claimTask(db, kind, { now, leaseMs: 60_000 });
      if (dead === undefined || next === undefined) throw new Error('expected two claims');
      expect(next.epoch).toBe(dead.epoch + 1);
      expect(await saveTaskProgress(db, dead, { at: 9 })).toBe(false);
      expect(await completeTask(db, dead, {}, now)).toBe(false);
      expect(await completeTask(db, next, { at: 1 }, now)).toBe(true);
      expect(await findTask(db, of, id)).toMatchObject({ state: 'done', result: { at: 1 }, progress: undefined });
    });

    it('cancelling stops the worker, which cleans up', async () => {
      const cleaned: unknown[] = [];
      const id = await enqueue(1, { key: 's3cret' });
      start(
        async (task) => {
          await task.save({ at: 1 });
          return new Promise((_, reject) => task.signal.addEventListener('abort', () => reject(new Error('stopped'))));
        },
        { cleanUp: async ({ id: gone, progress, secrets }) => void cleaned.push([gone, progress, secrets]) },
      );
      await expect.poll(async () => (await findTask(db, of, id))?.progress).toEqual({ at: 1 });
      expect(await cancelTask(db, of, id, Date.now())).toBe(true);
      await expect.poll(() => cleaned, { timeout: 10_000 }).toEqual([[id, { at: 1 }, { key: 's3cret' }]]);
      expect(await stateOf(id)).toBe('cancelled');
      expect(await cancelTask(db, of, id, Date.now())).toBe(false);
    });

    it('tasks are counted by kind and state, and those that retry apart', async () => {
      expect((await taskFigures(db, [kind])).get(kind)).toMatchObject({ byState: { queued: 0, done: 0 }, waiting: 0 });
      for (const to of [1, 2, 3]) await enqueue(to);
      await completeTask(db, await claimed(), {}, Date.now());
      const held = await claimed();
      expect((await taskFigures(db, [kind])).get(kind)?.waiting).toBe(0);
      await noteTaskError(db, held, 'waiting for the disk');
      await enqueueTask(db, { ...of, kind: 'other', spec: {}, createdBy: null, now: Date.now() });
      const found = await taskFigures(db, [kind]);
      expect([...found.keys()]).toEqual([kind]);
      expect(found.get(kind)).toEqual({
        byState: { queued: 1, running: 1, done: 1, failed: 0, cancelled: 0 },
        waiting: 1,
      });
    });

    it('a task that cannot succeed fails with its reason, and the next one is executed', async () => {
      const ids = [await enqueue(0), await enqueue(1)];
      start(async ({ spec }) => {
        if (spec.to === 0) throw new TaskFailedError('expected a number above 0, got 0; start another task');
        return {};
      });
      await reaches(ids[1] ?? '', 'done');
      expect(await findTask(db, of, ids[0] ?? '')).toMatchObject({
        state: 'failed',
        error: 'expected a number above 0, got 0; start another task',
      });
    });

    it('ended tasks of a kind that keeps them for a time are removed after it; open ones stay', async () => {
      const old = await enqueue(1);
      await db.updateTable('tasks').set({ state: 'done', ended_at: '2020-01-01T00:00:00.000000Z' }).execute();
      const other = await enqueueTask(db, { ...of, kind: 'other', spec: {}, createdBy: null, now: 0 });
      start(async () => ({}), { keptMs: 1000 });
      await expect.poll(() => findTask(db, of, old), { timeout: 10_000 }).toBeUndefined();
      expect(await findTask(db, { ...of, kind: 'other' }, other)).toMatchObject({ state: 'queued' });
    });

    it('tasks of other projects and kinds are not listed', async () => {
      const ids = [await enqueue(1), await enqueue(2)];
      await enqueueTask(db, { ...of, projectId: 8, spec: {}, createdBy: null, now: 0 });
      await enqueueTask(db, { ...of, kind: 'other', spec: {}, createdBy: null, now: 0 });
      const { count, tasks } = await listTasks(db, of, { limit: 1, offset: 1 });
      expect(count).toBe(2);
      expect(ids).toContain(tasks[0]?.id);
    });
  });
}
