import { afterEach, beforeEach } from 'vitest';
import type { Metadata } from '../metadata/database.ts';
import { claim, enqueue, findJob, listJobs, type Job, type NewJob } from './queue.ts';
import { addProject, start, type JobsStore, type OpenStore } from '../../test/support/jobs.ts';

export const leaseMs = 1000;

/** A store with one project, new for every test. */
export interface JobsFixture {
  readonly db: Metadata;
  /** As another process has it. */
  readonly other: Metadata;
  readonly projectId: number;
  add(job: Partial<NewJob> & { readonly configId: number }): Promise<string>;
  /** Throws when none is due. */
  take(now: number, db?: Metadata): Promise<Job>;
  /** Oldest first. */
  allJobs(): Promise<Job[]>;
}

export function useStore(open: OpenStore): JobsFixture {
  let store: JobsStore;
  let projectId: number;
  beforeEach(async () => {
    store = await open();
    projectId = await addProject(store.db);
  });
  afterEach(() => store[Symbol.asyncDispose]());
  return {
    get db() {
      return store.db;
    },
    get other() {
      return store.other;
    },
    get projectId() {
      return projectId;
    },
    add: (job) => enqueue(store.db, { projectId, type: 'run', operation: 'start', payload: {}, now: start, ...job }),
    async take(now, db = store.db) {
      const job = await claim(db, now, leaseMs);
      if (job === undefined) throw new Error('expected a job to be due');
      return job;
    },
    async allJobs() {
      const { jobs } = await listJobs(store.db, { projectId }, { limit: 5000, offset: 0 });
      const found = await Promise.all(jobs.map(({ id }) => findJob(store.db, projectId, id)));
      return found.filter((job) => job !== undefined).toReversed();
    },
  };
}
