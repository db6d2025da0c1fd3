import type { Selectable, Updateable } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import type { Database, Metadata } from '../../stores/metadata/database.ts';
import type { JobKind, JobState } from '../../stores/metadata/tables/plugins.ts';
import { claimed, claimNext, isExpired, isHeld, isStill, type Lease } from '../../stores/metadata/lease.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { JsonObject } from '../../base/json.ts';

/**
 * Jobs of plugin configs on the metadata store.
 *
 * `now` is the time of the database, which all processes share. The holder of a job renews its lease. `attempts` and the
 * start time of the run are the fence: a process that lost the lease can no longer write the outcome. At most one job of
 * a config runs at a time. Deliveries of a config keep their order: while one waits for its next attempt, the ones behind
 * it wait too. `prune-jobs.ts` prunes finished rows and handles a clock that was set back.
 */

/** All transitions of existing jobs; no other change of state can be written. */
const transitions = {
  /** The job is due, and no other job of the config runs. */
  claim: { from: 'queued', to: 'running' },
  /** The lease expired: the process that held it died. */
  reclaim: { from: 'running', to: 'running' },
  renew: { from: 'running', to: 'running' },
  /** Except for deliveries, whose rows are removed. */
  succeed: { from: 'running', to: 'succeeded' },
  /** Due later: the job cannot begin yet, or it failed and another attempt may help. */
  postpone: { from: 'running', to: 'queued' },
  /** No attempt remains, or none can help. */
  fail: { from: 'running', to: 'failed' },
  /** Due as before: the service is stopping. */
  release: { from: 'running', to: 'queued' },
  /** On request, like `retry`; see change-job.ts. */
  cancel: { from: 'queued', to: 'failed' },
  /** With all attempts available again. */
  retry: { from: 'failed', to: 'queued' },
} as const satisfies Record<string, { readonly from: JobState; readonly to: JobState }>;
export type JobTransition = keyof typeof transitions;
type JobColumns = Updateable<Database['jobs']>;

export const attemptsMax = 5;
const jobErrorLengthMax = 1000;

export interface NewJob {
  readonly projectId: number;
  readonly configId: number;
  readonly type: string;
  readonly operation: string;
  readonly payload: JsonObject;
  /** ms since the epoch. */
  readonly now: number;
  /** `succeeded` means that the work was done in the transaction that records the job. Default: queued. */
  readonly state?: 'queued' | 'succeeded';
  /** Default: started. */
  readonly kind?: JobKind;
  /** ms since the epoch; default: now. */
  readonly runAt?: number;
  /** Default: `attemptsMax` of the kind. */
  readonly attemptsMax?: number;
}

export interface Job extends JobSummary {
  readonly payload: JsonObject;
}

/** A job without its payload, which may be large. */
export interface JobSummary {
  readonly id: string;
  readonly projectId: number;
  readonly configId: number;
  readonly kind: JobKind;
  readonly type: string;
  readonly operation: string;
  readonly state: JobState;
  readonly attempts: number;
  readonly attemptsMax: number;
  readonly runAt: string;
  readonly error: string;
  readonly createdAt: string;
  /** Start of the last run; `null` before the first. */
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
}

/** Adds a job in the caller's transaction, so that it exists only if that commits. Returns its id. */
export async function enqueue(tx: Queries, job: NewJob & { readonly uniqueKey?: undefined }): Promise<string>;
/** Returns `undefined` if a job with this key already exists in any state. */
export async function enqueue(tx: Queries, job: NewJob & { readonly uniqueKey: string }): Promise<string | undefined>;
export async function enqueue(
  tx: Queries,
  job: NewJob & { readonly uniqueKey?: string | undefined },
): Promise<string | undefined> {
  const id = newId();
  const time = isoMicros(job.now);
  const state = job.state ?? 'queued';
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('jobs')
    .values({
      id,
      project_id: job.projectId,
      config_id: job.configId,
      kind: job.kind ?? 'started',
      type: job.type,
      operation: job.operation,
      payload: JSON.stringify(job.payload),
      state,
      attempts: 0,
      attempts_max: job.attemptsMax ?? null,
      unique_key: job.uniqueKey ?? null,
      run_at: isoMicros(job.runAt ?? job.now),
      since: time,
      lease_until: null,
      error: '',
      created_at: time,
      finished_at: state === 'succeeded' ? time : null,
    })
    .onConflict((conflict) => conflict.column('unique_key').doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 0n ? undefined : id;
}

/** Claims the job of these kinds that has been due longest and holds it until `now + leaseMs`. Returns `undefined` if none is due. */
export async function claim(
  db: Metadata,
  now: number,
  leaseMs: number,
  kinds?: readonly JobKind[],
): Promise<Job | undefined> {
  return claimNext(
    async () => (await expired(db, now, kinds)) ?? (await due(db, now, kinds)),
    (candidate) => db.transaction().execute((tx) => take(tx, candidate, now, leaseMs)),
  );
}

type Candidate = Pick<Selectable<Database['jobs']>, 'id' | 'config_id' | 'attempts' | 'lease_until'>;

/** Returns `undefined` if another process was faster. */
async function take(tx: Queries, candidate: Candidate, now: number, leaseMs: number): Promise<Job | undefined> {
  await lockConfigOfJob(tx, candidate.config_id);
  const found = (await expired(tx, now, undefined, candidate.id)) ?? (await due(tx, now, undefined, candidate.id));
  if (found === undefined) return undefined;
  const taken = { ...claimed(found, now, leaseMs), since: isoMicros(now) };
  const by = found.lease_until === null ? 'claim' : 'reclaim';
  // Only while the job is unchanged: a deleted config leaves no row to lock.
  const row = await moveJobs(tx, by, taken).where(isStill(found)).returningAll().executeTakeFirst();
  return row && toJob(row);
}

/** Serialises this transaction with others about jobs of the config. Returns false if the config was deleted. */
export async function lockConfigOfJob(tx: Queries, configId: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('plugin_configs')
    .set((eb) => ({ position: eb.ref('position') }))
    .where('id', '=', configId)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Returns false if the lease is lost and another process may run the job. */
export async function renew(db: Queries, job: Job, now: number, leaseMs: number): Promise<boolean> {
  return updateHeld(db, job, 'renew', { lease_until: isoMicros(now + leaseMs) });
}

export async function succeed(db: Queries, job: Job, now: number): Promise<boolean> {
  return updateHeld(db, job, 'succeed', { lease_until: null, error: '', finished_at: isoMicros(now) });
}

/**
 * Retries after `delayMs`, or fails permanently if `final` or the attempts are used up. `error` must hold no secret. `payload`
 * replaces the job's payload with the remaining work. Returns false if the lease is lost.
 */
export async function fail(
  db: Queries,
  job: Job,
  outcome: {
    readonly error: string;
    readonly now: number;
    readonly delayMs: number;
    readonly final: boolean;
    readonly payload?: JsonObject | undefined;
    /** The new total of attempts. */
    readonly attemptsMax?: number | undefined;
  },
): Promise<boolean> {
  const error = outcome.error.slice(0, jobErrorLengthMax);
  const left = {
    ...(outcome.payload === undefined ? {} : { payload: JSON.stringify(outcome.payload) }),
    ...(outcome.attemptsMax === undefined ? {} : { attempts_max: outcome.attemptsMax }),
  };
  if (outcome.final || job.attempts >= (outcome.attemptsMax ?? job.attemptsMax)) {
    const finished_at = isoMicros(outcome.now);
    return updateHeld(db, job, 'fail', { ...left, lease_until: null, error, finished_at });
  }
  return updateHeld(db, job, 'postpone', { ...left, ...dueIn(outcome.delayMs, outcome.now), error });
}

/** Returns the job to the queue because the service is stopping. It costs no attempt. `payload` is the remaining work. */
export async function release(db: Queries, job: Job, payload?: JsonObject): Promise<boolean> {
  const left = payload === undefined ? {} : { payload: JSON.stringify(payload) };
  return updateHeld(db, job, 'release', { ...left, lease_until: null, attempts: job.attempts - 1 });
}

/** Makes a job that cannot begin yet due again after `delayMs`. It costs no attempt. */
export async function postpone(
  db: Queries,
  job: Job,
  later: { readonly error: string; readonly now: number; readonly delayMs: number },
): Promise<boolean> {
  // A delivery keeps its attempt, so that the ones behind it wait for it.
  if (job.kind === 'delivery') return fail(db, job, { ...later, final: false, attemptsMax: job.attemptsMax + 1 });
  const error = later.error.slice(0, jobErrorLengthMax);
  return updateHeld(db, job, 'postpone', { ...dueIn(later.delayMs, later.now), attempts: job.attempts - 1, error });
}

function dueIn(delayMs: number, now: number) {
  return { lease_until: null, run_at: isoMicros(now + delayMs), since: isoMicros(now) };
}

/** Removes a job that succeeded and leaves no record, because there would be too many rows. */
export async function remove(db: Queries, job: Job): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('jobs')
    .where(isHeld(leaseOf(job)))
    .where('since', '=', job.startedAt)
    .executeTakeFirst();
  return numDeletedRows > 0n;
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

interface JobFilter {
  readonly projectId: number;
  readonly configId?: number | undefined;
  readonly state?: JobState | undefined;
  readonly kind?: JobKind | undefined;
}

/** Newest first. */
export async function listJobs(
  db: Queries,
  of: JobFilter,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly count: number; readonly jobs: JobSummary[] }> {
  let query = db.selectFrom('jobs').where('project_id', '=', of.projectId);
  if (of.configId !== undefined) query = query.where('config_id', '=', of.configId);
  if (of.state !== undefined) query = query.where('state', '=', of.state);
  if (of.kind !== undefined) query = query.where('kind', '=', of.kind);
  const { count } = await query.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  // Ids are ordered by time, so neither count nor order reads a payload.
  const ids = await query.select('id').orderBy('id', 'desc').limit(page.limit).offset(page.offset).execute();
  if (ids.length === 0) return { count: Number(count), jobs: [] };
  const rows = await db
    .selectFrom('jobs')
    .select(summaryColumns)
    .where(
      'id',
      'in',
      ids.map(({ id }) => id),
    )
    .orderBy('id', 'desc')
    .execute();
  return { count: Number(count), jobs: rows.map(toSummary) };
}

/** Updates the job's row while the lease is valid. Returns false if it is lost and nothing was changed. */
async function updateHeld(db: Queries, job: Job, by: JobTransition, columns: JobColumns): Promise<boolean> {
  const { numUpdatedRows } = await moveJobs(db, by, columns)
    .where(isHeld(leaseOf(job)))
    .where('since', '=', job.startedAt)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Builds the update for a transition of the jobs that the caller selects; a job in another state stays unchanged. */
export function moveJobs(db: Queries, by: JobTransition, columns: JobColumns) {
  const { from, to } = transitions[by];
  // The column's type refuses every other update, so this is the only one.
  const state = to as never;
  return db
    .updateTable('jobs')
    .set({ ...columns, state })
    .where('state', '=', from);
}

function leaseOf({ id, attempts }: Job): Lease {
  return { id, epoch: attempts };
}

/** Finds a running job whose lease has expired. */
function expired(db: Queries, now: number, kinds?: readonly JobKind[], id?: string): Promise<Candidate | undefined> {
  return candidates(db, now, kinds, id).where(isExpired(now)).executeTakeFirst();
}

/** Finds a queued job that is due. */
function due(db: Queries, now: number, kinds?: readonly JobKind[], id?: string): Promise<Candidate | undefined> {
  return candidates(db, now, kinds, id)
    .where('j.state', '=', transitions.claim.from)
    .where('j.run_at', '<=', isoMicros(now))
    .where((eb) =>
      eb.or([
        eb('j.kind', '!=', 'delivery'),
        eb('j.attempts', '>', 0),
        eb(
          'j.config_id',
          'not in',
          eb
            .selectFrom('jobs as before')
            .select('before.config_id')
            .where('before.kind', '=', 'delivery')
            .where('before.state', '=', 'queued')
            .where('before.attempts', '>', 0),
        ),
      ]),
    )
    .executeTakeFirst();
}

/** Selects jobs whose config runs no other job under a valid lease. Served by the index jobs_due. */
function candidates(db: Queries, now: number, kinds: readonly JobKind[] | undefined, id: string | undefined) {
  let query = db
    .selectFrom('jobs as j')
    .select(['j.id', 'j.config_id', 'j.attempts', 'j.lease_until'])
    .where((eb) =>
      eb(
        'j.config_id',
        'not in',
        eb
          .selectFrom('jobs as other')
          .select('other.config_id')
          .where('other.state', '=', 'running')
          .where('other.lease_until', '>=', isoMicros(now)),
      ),
    )
    .orderBy('j.run_at')
    .orderBy('j.id')
    .limit(1);
  if (kinds !== undefined) query = query.where('j.kind', 'in', kinds);
  if (id !== undefined) query = query.where('j.id', '=', id);
  return query;
}

const summaryColumns = [
  'id',
  'project_id',
  'config_id',
  'kind',
  'type',
  'operation',
  'state',
  'attempts',
  'attempts_max',
  'run_at',
  'since',
  'error',
  'created_at',
  'finished_at',
] as const;
type SummaryRow = Pick<Selectable<Database['jobs']>, (typeof summaryColumns)[number]>;

function toSummary(row: SummaryRow): JobSummary {
  return {
    id: row.id,
    projectId: row.project_id,
    configId: row.config_id,
    kind: row.kind,
    type: row.type,
    operation: row.operation,
    state: row.state,
    attempts: row.attempts,
    attemptsMax: row.attempts_max ?? attemptsMax,
    runAt: row.run_at,
    error: row.error,
    createdAt: row.created_at,
    startedAt: row.state === 'queued' || row.attempts === 0 ? null : row.since,
    finishedAt: row.finished_at,
  };
}

function toJob(row: SummaryRow & { readonly payload: string }): Job {
  return { ...toSummary(row), payload: JSON.parse(row.payload) as JsonObject };
}
