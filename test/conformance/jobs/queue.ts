import { dayMs } from '../../../src/base/time.ts';
import type { Updateable } from 'kysely';
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import {
  attemptsMax,
  claim,
  enqueue,
  fail,
  findJob,
  listJobs,
  moveJobs,
  postpone,
  release,
  remove,
  renew,
  succeed,
} from '../../../src/queue/jobs/queue.ts';
import type { Job, JobTransition, NewJob } from '../../../src/queue/jobs/queue.ts';
import type { Database } from '../../../src/stores/metadata/database.ts';
import { addProject, start, type JobsStore, type OpenStore } from '../../support/jobs.ts';

const leaseMs = 1000;

/** Allowed transitions of a job in each state. */
const allowed: Readonly<Record<Job['state'], Partial<Record<JobTransition, Job['state']>>>> = {
  queued: { claim: 'running', cancel: 'failed' },
  running: {
    reclaim: 'running',
    renew: 'running',
    succeed: 'succeeded',
    postpone: 'queued',
    fail: 'failed',
    release: 'queued',
  },
  succeeded: {},
  failed: { retry: 'queued' },
};
const transitions = Object.values(allowed).flatMap((of) => Object.keys(of)) as JobTransition[];
/** Transitions by which a new job reaches a state. */
const pathsTo: Readonly<Record<Job['state'], readonly JobTransition[]>> = {
  queued: [],
  running: ['claim'],
  succeeded: ['claim', 'succeed'],
  failed: ['claim', 'fail'],
};

export function testQueue(open: OpenStore): void {
  let store: JobsStore;
  let projectId: number;
  beforeEach(async () => {
    store = await open();
    projectId = await addProject(store.db);
  });
  afterEach(() => store[Symbol.asyncDispose]());

  function add(configId: number, now = start, more: Partial<NewJob> = {}): Promise<string> {
    const job = { projectId, configId, type: 'run', operation: 'start', payload: { a: 1 }, now, ...more };
    return store.db.transaction().execute((tx) => enqueue(tx, job));
  }

  async function take(now: number, db = store.db): Promise<Job> {
    const job = await claim(db, now, leaseMs);
    if (job === undefined) throw new Error('expected a job to be due');
    return job;
  }

  describe('the job queue', () => {
    it('a job exists if and only if the transaction that enqueued it commits', async () => {
      const doomed = store.db.transaction().execute(async (tx) => {
        await enqueue(tx, { projectId, configId: 1, type: 'run', operation: 'start', payload: {}, now: start });
        throw new Error('changed my mind');
      });
      await expect(doomed).rejects.toThrow('changed my mind');
      expect(await claim(store.db, start, leaseMs)).toBeUndefined();
    });

    it('the job that has been due longest comes first, and none before its time', async () => {
      const later = await add(1, start + 10);
      const sooner = await add(2, start + 5);
      expect(await claim(store.db, start, leaseMs)).toBeUndefined();
      expect((await take(start + 20)).id).toBe(sooner);
      expect((await take(start + 20)).id).toBe(later);
    });

    it('one job of a config runs at a time', async () => {
      const first = await add(1);
      const second = await add(1, start + 1);
      const running = await take(start + 2);
      expect(running.id).toBe(first);
      expect(await claim(store.db, start + 2, leaseMs)).toBeUndefined();
      await succeed(store.db, running, start + 3);
      expect((await take(start + 4)).id).toBe(second);
    });

    it('concurrent claims take each job once', async () => {
      for (let config = 1; config <= 5; config++) await add(config);
      const taken = await Promise.all(Array.from({ length: 12 }, () => claim(store.db, start, leaseMs)));
      const ids = taken.flatMap((job) => (job === undefined ? [] : [job.id]));
      expect(ids).toHaveLength(5);
      expect(new Set(ids).size).toBe(5);
    });

    it('a job whose lease expired is claimed again, and the former holder cannot write the outcome', async () => {
      const id = await add(1);
      const lost = await take(start);
      expect(await renew(store.db, lost, start + 900, leaseMs)).toBe(true);
      expect(await claim(store.db, start + 1800, leaseMs)).toBeUndefined();
      const again = await take(start + 1901);
      expect(again).toMatchObject({ id, attempts: 2 });
      expect(await renew(store.db, lost, start + 1902, leaseMs)).toBe(false);
      expect(await succeed(store.db, lost, start + 1902)).toBe(false);
      expect(await findJob(store.db, projectId, id)).toMatchObject({ state: 'running', attempts: 2 });
      expect(await succeed(store.db, again, start + 1903)).toBe(true);
      expect(await findJob(store.db, projectId, id)).toMatchObject({ state: 'succeeded', error: '' });
    });

    it('a failed job is retried later, up to the last attempt', async () => {
      const id = await add(1);
      let now = start;
      for (let attempt = 1; attempt <= attemptsMax; attempt++) {
        const job = await take(now);
        expect(job.attempts).toBe(attempt);
        await fail(store.db, job, { error: `no ${attempt}`, now, delayMs: 100, final: false });
        const state = attempt < attemptsMax ? 'queued' : 'failed';
        expect(await findJob(store.db, projectId, id)).toMatchObject({ state, error: `no ${attempt}` });
        expect(await claim(store.db, now + 99, leaseMs)).toBeUndefined();
        now += 100;
      }
      expect(await claim(store.db, now + 1_000_000, leaseMs)).toBeUndefined();
    });

    it.each(Object.keys(allowed) as Job['state'][])(
      'a job that is %s only allows the transitions of the table',
      async (state) => {
        const moves = async (by: JobTransition, id: string): Promise<boolean> => {
          const { numUpdatedRows } = await moveJobs(store.db, by, {}).where('id', '=', id).executeTakeFirst();
          return numUpdatedRows === 1n;
        };
        for (const by of transitions) {
          const id = await add(1);
          for (const path of pathsTo[state]) expect(await moves(path, id)).toBe(true);
          const to = allowed[state][by];
          expect([by, await moves(by, id)]).toEqual([by, to !== undefined]);
          expect(await findJob(store.db, projectId, id)).toMatchObject({ state: to ?? state });
        }
      },
    );

    it('the outcome of a job is written once: a stale holder changes nothing', async () => {
      const id = await add(1);
      const job = await take(start);
      const failure = { error: 'first', now: start, delayMs: 1, final: true };
      expect(await fail(store.db, job, failure)).toBe(true);
      const tries = [
        renew(store.db, job, start, leaseMs),
        succeed(store.db, job, start),
        fail(store.db, job, { ...failure, error: 'second', final: false }),
        postpone(store.db, job, { ...failure, error: 'second' }),
        release(store.db, job),
        remove(store.db, job),
      ];
      expect(await Promise.all(tries)).toEqual(tries.map(() => false));
      expect(await findJob(store.db, projectId, id)).toMatchObject({ state: 'failed', error: 'first', attempts: 1 });
    });

    it('only a transition writes the state of a job', () => {
      expectTypeOf<Updateable<Database['jobs']>>().not.toHaveProperty('state');
    });

    it('a hopeless failure is final immediately', async () => {
      const id = await add(1);
      await fail(store.db, await take(start), { error: 'x'.repeat(5000), now: start, delayMs: 1, final: true });
      const job = await findJob(store.db, projectId, id);
      expect(job).toMatchObject({ state: 'failed', attempts: 1 });
      expect(job?.error).toHaveLength(1000);
    });

    it('releasing a job costs no attempt', async () => {
      const id = await add(1);
      await release(store.db, await take(start));
      expect(await findJob(store.db, projectId, id)).toMatchObject({ state: 'queued', attempts: 0 });
      expect(await take(start)).toMatchObject({ id, attempts: 1, payload: { a: 1 } });
    });

    it('jobs are listed newest first, by config and state, never those of other projects', async () => {
      const ids = [await add(1), await add(2, start + 1), await add(1, start + 2)];
      await take(start + 5);
      const list = async (of: object): Promise<string[]> => {
        const { jobs, count } = await listJobs(store.db, { projectId, ...of }, { limit: 10, offset: 0 });
        expect(count).toBe(jobs.length);
        return jobs.map(({ id }) => id);
      };
      expect(await list({})).toEqual(ids.toReversed());
      expect(await list({ configId: 1 })).toEqual([ids[2], ids[0]]);
      expect(await list({ state: 'running' })).toEqual([ids[0]]);
      const tick = await add(2, start + 6, { kind: 'scheduled' });
      expect(await list({ kind: 'scheduled' })).toEqual([tick]);
      expect(await list({ projectId: projectId + 1 })).toEqual([]);
      expect(await findJob(store.db, projectId + 1, ids[0] ?? '')).toBeUndefined();
    });

    it('a job that is due in days runs exactly then', async () => {
      const id = await add(1, start, { runAt: start + 3 * dayMs });
      expect(await claim(store.db, start + 3 * dayMs - 1, leaseMs)).toBeUndefined();
      expect(await take(start + 3 * dayMs)).toMatchObject({ id, kind: 'started' });
    });

    it('a key has one job, even if two processes add it concurrently, and even after it finished', async () => {
      const job = { projectId, configId: 1, type: 'run', operation: 's', payload: {}, now: start, uniqueKey: 'tick' };
      const made = await Promise.all(
        [store.db, store.other, store.db].map((db) => db.transaction().execute((tx) => enqueue(tx, job))),
      );
      expect(made.filter((id) => id !== undefined)).toHaveLength(1);
      await succeed(store.db, await take(start), start);
      expect(await enqueue(store.db, job)).toBeUndefined();
      expect(await enqueue(store.db, { ...job, uniqueKey: 'tock' })).toBeDefined();
    });

    it('a claim for some kinds returns no others', async () => {
      await add(1);
      const tick = await add(2, start + 1, { kind: 'scheduled' });
      expect(await claim(store.db, start + 2, leaseMs, ['delivery'])).toBeUndefined();
      expect((await claim(store.db, start + 2, leaseMs, ['scheduled', 'delivery']))?.id).toBe(tick);
    });

    it('deliveries wait for an earlier one that is retried; other jobs of the config do not', async () => {
      const first = await add(1, start, { kind: 'delivery' });
      const second = await add(1, start + 1, { kind: 'delivery' });
      await fail(store.db, await take(start + 2), { error: 'no', now: start + 2, delayMs: 500, final: false });
      expect(await claim(store.db, start + 3, leaseMs)).toBeUndefined();
      const other = await add(1, start + 3);
      const job = await take(start + 4);
      expect(job.id).toBe(other);
      await succeed(store.db, job, start + 5);
      const again = await take(start + 502);
      expect(again.id).toBe(first);
      expect(await remove(store.db, again)).toBe(true);
      expect((await take(start + 503)).id).toBe(second);
    });

    it('a job has the attempts it was created with, or those that a failure sets', async () => {
      await add(1, start, { attemptsMax: 1 });
      const only = await take(start);
      const failure = { error: 'no', now: start, delayMs: 10, final: false };
      await fail(store.db, only, failure);
      expect(await findJob(store.db, projectId, only.id)).toMatchObject({ state: 'failed', attemptsMax: 1 });
      await add(2, start, { attemptsMax: 1 });
      const more = await take(start);
      await fail(store.db, more, { ...failure, attemptsMax: 3, payload: { left: 2 } });
      expect(await take(start + 10)).toMatchObject({ id: more.id, attempts: 2, attemptsMax: 3, payload: { left: 2 } });
    });

    it('a job that cannot start yet runs later with the same attempts left', async () => {
      const id = await add(1, start, { attemptsMax: 2, kind: 'delivery' });
      const behind = await add(1, start, { kind: 'delivery' });
      for (let n = 0; n < 5; n += 1) {
        const job = await take(start + n * 100);
        expect(job.attemptsMax - job.attempts).toBe(1);
        await postpone(store.db, job, { now: start + n * 100, delayMs: 100, error: 'not yet' });
        expect(await findJob(store.db, projectId, id)).toMatchObject({ state: 'queued', error: 'not yet' });
        expect(await claim(store.db, start + n * 100 + 99, leaseMs)).toBeUndefined();
      }
      await succeed(store.db, await take(start + 500), start + 500);
      expect((await take(start + 501)).id).toBe(behind);
    });

    it('a job released with its remaining work keeps its place', async () => {
      const id = await add(1, start, { kind: 'delivery' });
      await add(1, start + 1, { kind: 'delivery' });
      await release(store.db, await take(start + 2), { left: 1 });
      expect(await take(start + 3)).toMatchObject({ id, attempts: 1, payload: { left: 1 } });
    });

    it('the holder of a job that was released and claimed again cannot write its outcome', async () => {
      await add(1);
      const zombie = await take(start);
      await release(store.db, zombie);
      const holder = await take(start + 1, store.other);
      expect(holder.attempts).toBe(zombie.attempts);
      expect(await succeed(store.db, zombie, start + 2)).toBe(false);
      expect(await remove(store.db, zombie)).toBe(false);
      expect(await succeed(store.other, holder, start + 2)).toBe(true);
    });

    it('a running job has its start time, a finished one keeps it, a queued one has none', async () => {
      const id = await add(1);
      expect((await findJob(store.db, projectId, id))?.startedAt).toBeNull();
      const job = await take(start + 5);
      await renew(store.db, job, start + 500, leaseMs);
      await succeed(store.db, job, start + 900);
      const times = { startedAt: '2026-11-20T10:00:00.005000Z', finishedAt: '2026-11-20T10:00:00.900000Z' };
      expect(await findJob(store.db, projectId, id)).toMatchObject(times);
    });
  });
}
