import { isoMicros } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { JobState, Metadata } from '../metadata/database.ts';
import type { Queries } from '../metadata/queries.ts';
import type { JsonObject } from '../plugins/plugin.ts';

/**
 * Jobs of plugin configs on the metadata store.
 *
 * States: queued → running → succeeded | failed. A failed attempt goes back to queued with a later `run_at` until
 * `attemptsMax` are used up. A runner holds a job by a lease that it renews; when the lease runs out (the process died)
 * the job is taken up again. `attempts` is the fencing number: who lost the lease cannot write the outcome any more.
 * Of one config at most one job runs at a time.
 */
export const attemptsMax = 5;
/** No job is ever put off for longer: one that is due later than that was written before the clock went back, and is due. */
export const delayMsMax = 600_000;
export const jobErrorLengthMax = 1000;
const claimTriesMax = 20;

export interface NewJob {
  readonly projectId: number;
  readonly configId: number;
  readonly type: string;
  readonly operation: string;
  readonly payload: JsonObject;
  /** ms since the epoch. */
  readonly now: number;
  /** `succeeded`: done in the very transaction that records it. Default queued. */
  readonly state?: 'queued' | 'succeeded';
}

export interface Job {
  readonly id: string;
  readonly projectId: number;
  readonly configId: number;
  readonly type: string;
  readonly operation: string;
  readonly payload: JsonObject;
  readonly state: JobState;
  readonly attempts: number;
  readonly runAt: string;
  readonly error: string;
  readonly createdAt: string;
  readonly finishedAt: string | null;
}

/** In the caller's transaction: the job exists if and only if what asked for it does. Returns its id. */
export async function enqueue(tx: Queries, job: NewJob): Promise<string> {
  const id = newId();
  const time = isoMicros(job.now);
  const state = job.state ?? 'queued';
  await tx
    .insertInto('jobs')
    .values({
      id,
      project_id: job.projectId,
      config_id: job.configId,
      type: job.type,
      operation: job.operation,
      payload: JSON.stringify(job.payload),
      state,
      attempts: 0,
      run_at: time,
      lease_until: null,
      error: '',
      created_at: time,
      finished_at: state === 'succeeded' ? time : null,
    })
    .execute();
  return id;
}

/** Takes the job that is due longest and holds it until `now + leaseMs`. Undefined: nothing to do. */
export async function claim(db: Metadata, now: number, leaseMs: number): Promise<Job | undefined> {
  // Others look at the same job; who comes second looks for the next one.
  for (let tries = 0; tries < claimTriesMax; tries++) {
    const candidate = await due(db, now);
    if (candidate === undefined) return undefined;
    const job = await db.transaction().execute((tx) => take(tx, candidate, now, leaseMs));
    if (job !== undefined) return job;
  }
  return undefined;
}

/** Undefined: somebody else was faster. */
async function take(tx: Queries, candidate: JobRow, now: number, leaseMs: number): Promise<Job | undefined> {
  // Two processes that look at two jobs of one config take turns here; the second then sees the first one running.
  await tx
    .updateTable('plugin_configs')
    .set((eb) => ({ position: eb.ref('position') }))
    .where('id', '=', candidate.config_id)
    .execute();
  const row = await due(tx, now, candidate.id);
  if (row === undefined) return undefined;
  const attempts = row.attempts + 1;
  const { numUpdatedRows } = await tx
    .updateTable('jobs')
    .set({ state: 'running', attempts, lease_until: isoMicros(now + leaseMs) })
    .where('id', '=', row.id)
    // The config may be gone, and with it the row to take turns on; and the holder may just have renewed its lease.
    .where('attempts', '=', row.attempts)
    .where((eb) => eb.or([eb('state', '=', 'queued'), eb('lease_until', '<', isoMicros(now))]))
    .executeTakeFirst();
  return numUpdatedRows === 0n ? undefined : { ...toJob(row), state: 'running', attempts };
}

/** False: the lease is lost, somebody else may run the job. */
export async function renew(db: Queries, job: Job, now: number, leaseMs: number): Promise<boolean> {
  return leave(db, job, { lease_until: isoMicros(now + leaseMs) });
}

export async function succeed(db: Queries, job: Job, now: number): Promise<boolean> {
  return leave(db, job, { state: 'succeeded', lease_until: null, error: '', finished_at: isoMicros(now) });
}

/** Tries again after `delayMs`, or gives up when `attemptsMax` are used up. `error` must hold no secret. */
export async function fail(
  db: Queries,
  job: Job,
  outcome: { readonly error: string; readonly now: number; readonly delayMs: number; readonly final: boolean },
): Promise<boolean> {
  const error = outcome.error.slice(0, jobErrorLengthMax);
  if (outcome.final || job.attempts >= attemptsMax) {
    return leave(db, job, { state: 'failed', lease_until: null, error, finished_at: isoMicros(outcome.now) });
  }
  return leave(db, job, {
    state: 'queued',
    lease_until: null,
    error,
    run_at: isoMicros(outcome.now + outcome.delayMs),
  });
}

/** Gives the job back untouched: the service stops. */
export async function release(db: Queries, job: Job): Promise<boolean> {
  return leave(db, job, { state: 'queued', lease_until: null, attempts: job.attempts - 1 });
}

export async function findJob(db: Queries, projectId: number, id: string): Promise<Job | undefined> {
  const row = await db
    .selectFrom('jobs')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
  return row === undefined ? undefined : toJob(row);
}

/** Newest first. */
export async function listJobs(
  db: Queries,
  of: { readonly projectId: number; readonly configId?: number | undefined; readonly state?: JobState | undefined },
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly count: number; readonly jobs: Job[] }> {
  let query = db.selectFrom('jobs').where('project_id', '=', of.projectId);
  if (of.configId !== undefined) query = query.where('config_id', '=', of.configId);
  if (of.state !== undefined) query = query.where('state', '=', of.state);
  const { count } = await query.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  const rows = await query
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  return { count: Number(count), jobs: rows.map(toJob) };
}

async function leave(
  db: Queries,
  job: Job,
  columns: Partial<{
    state: JobState;
    attempts: number;
    run_at: string;
    lease_until: string | null;
    error: string;
    finished_at: string;
  }>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('jobs')
    .set(columns)
    .where('id', '=', job.id)
    .where('state', '=', 'running')
    .where('attempts', '=', job.attempts)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Queued and due, or running with a lease that ran out; and no other job of the same config under a valid lease. */
function due(db: Queries, now: number, id?: string) {
  const time = isoMicros(now);
  const latest = isoMicros(now + delayMsMax);
  let query = db
    .selectFrom('jobs as j')
    .selectAll('j')
    .where((eb) =>
      eb.or([
        eb.and([eb('j.state', '=', 'queued'), eb.or([eb('j.run_at', '<=', time), eb('j.run_at', '>', latest)])]),
        eb.and([eb('j.state', '=', 'running'), eb('j.lease_until', '<', time)]),
      ]),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('jobs as other')
            .select('other.id')
            .whereRef('other.config_id', '=', 'j.config_id')
            .whereRef('other.project_id', '=', 'j.project_id')
            .whereRef('other.id', '!=', 'j.id')
            .where('other.state', '=', 'running')
            .where('other.lease_until', '>=', time),
        ),
      ),
    )
    .orderBy('j.run_at')
    .orderBy('j.id')
    .limit(1);
  if (id !== undefined) query = query.where('j.id', '=', id);
  return query.executeTakeFirst();
}

type JobRow = NonNullable<Awaited<ReturnType<typeof due>>>;

function toJob(row: JobRow): Job {
  return {
    id: row.id,
    projectId: row.project_id,
    configId: row.config_id,
    type: row.type,
    operation: row.operation,
    payload: JSON.parse(row.payload) as JsonObject,
    state: row.state,
    attempts: row.attempts,
    runAt: row.run_at,
    error: row.error,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
  };
}
