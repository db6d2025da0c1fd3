import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tempMetadata, type TempMetadata } from '../../test/support/metadata.ts';
import { createOrganization } from '../metadata/organizations.ts';
import { createProject } from '../metadata/projects.ts';
import { attemptsMax, claim, enqueue, fail, findJob, listJobs, release, renew, succeed, type Job } from './queue.ts';

const start = Date.parse('2026-11-20T10:00:00Z');
const leaseMs = 1000;

let store: TempMetadata;
let projectId: number;
beforeAll(async () => {
  store = await tempMetadata();
  const { id } = await createOrganization(store.db, { name: 'o' }, start);
  projectId = (await createProject(store.db, { organizationId: id, name: 'p' }, start)).id;
});
beforeEach(() => store.db.deleteFrom('jobs').execute());
afterAll(() => store[Symbol.asyncDispose]());

function add(configId: number, now = start): Promise<string> {
  const job = { projectId, configId, type: 'run', operation: 'start', payload: { a: 1 }, now };
  return store.db.transaction().execute((tx) => enqueue(tx, job));
}

async function take(now: number): Promise<Job> {
  const job = await claim(store.db, now, leaseMs);
  if (job === undefined) throw new Error('expected a job to be due');
  return job;
}

describe('the job queue', () => {
  it('a job exists if and only if the transaction that asked for it ends well', async () => {
    const doomed = store.db.transaction().execute(async (tx) => {
      await enqueue(tx, { projectId, configId: 1, type: 'run', operation: 'start', payload: {}, now: start });
      throw new Error('changed my mind');
    });
    await expect(doomed).rejects.toThrow('changed my mind');
    expect(await claim(store.db, start, leaseMs)).toBeUndefined();
  });

  it('the one that is due longest comes first, and nothing before its time', async () => {
    const later = await add(1, start + 10);
    const sooner = await add(2, start + 5);
    expect(await claim(store.db, start, leaseMs)).toBeUndefined();
    expect((await take(start + 20)).id).toBe(sooner);
    expect((await take(start + 20)).id).toBe(later);
  });

  it('of one config one job runs at a time', async () => {
    const first = await add(1);
    const second = await add(1, start + 1);
    const running = await take(start + 2);
    expect(running.id).toBe(first);
    expect(await claim(store.db, start + 2, leaseMs)).toBeUndefined();
    await succeed(store.db, running, start + 3);
    expect((await take(start + 4)).id).toBe(second);
  });

  it('many claims at the same time: each job is taken once', async () => {
    for (let config = 1; config <= 5; config++) await add(config);
    const taken = await Promise.all(Array.from({ length: 12 }, () => claim(store.db, start, leaseMs)));
    const ids = taken.flatMap((job) => (job === undefined ? [] : [job.id]));
    expect(ids).toHaveLength(5);
    expect(new Set(ids).size).toBe(5);
  });

  it('a job whose lease ran out is taken up again, and who lost it cannot write the outcome', async () => {
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

  it('a failed job is tried again later, up to the last attempt', async () => {
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

  it('a hopeless failure is final at once', async () => {
    const id = await add(1);
    await fail(store.db, await take(start), { error: 'x'.repeat(5000), now: start, delayMs: 1, final: true });
    const job = await findJob(store.db, projectId, id);
    expect(job).toMatchObject({ state: 'failed', attempts: 1 });
    expect(job?.error).toHaveLength(1000);
  });

  it('giving a job back costs no attempt', async () => {
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
    expect(await list({ projectId: projectId + 1 })).toEqual([]);
    expect(await findJob(store.db, projectId + 1, ids[0] ?? '')).toBeUndefined();
  });
});
