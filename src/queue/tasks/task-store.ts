import type { Selectable } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import type { Database } from '../../stores/metadata/database.ts';
import { claimed, claimNext, isExpired, isHeld, isStill, type Lease } from '../../stores/metadata/lease.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { Task } from './task.ts';

/** What a worker that claimed a task knows of it. */
export interface ClaimedTask extends Lease, Pick<Task, 'projectId' | 'spec' | 'progress'> {
  readonly secrets: Readonly<Record<string, string>>;
}

export interface NewTask {
  readonly projectId: number;
  readonly kind: string;
  /** Stored as JSON. */
  readonly spec: unknown;
  readonly secrets?: Readonly<Record<string, string>>;
  /** `null`: the service itself. */
  readonly createdBy: number | null;
  /** ms since the epoch, here and below. */
  readonly now: number;
}

/** Returns the id. */
export async function enqueueTask(db: Queries, task: NewTask): Promise<string> {
  const id = newId();
  await db
    .insertInto('tasks')
    .values({
      id,
      project_id: task.projectId,
      kind: task.kind,
      state: 'queued',
      spec: JSON.stringify(task.spec),
      secrets: JSON.stringify(task.secrets ?? {}),
      progress: null,
      result: null,
      error: '',
      attempts: 0,
      lease_until: null,
      created_by: task.createdBy,
      created_at: isoMicros(task.now),
      started_at: null,
      ended_at: null,
    })
    .execute();
  return id;
}

interface TasksOf {
  readonly projectId: number;
  readonly kind: string;
}

/** Newest first. */
export async function listTasks(
  db: Queries,
  { projectId, kind }: TasksOf,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly count: number; readonly tasks: readonly Task[] }> {
  const all = db.selectFrom('tasks').where('project_id', '=', projectId).where('kind', '=', kind);
  const { count } = await all.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow();
  const newestFirst = all.selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc');
  const rows = await newestFirst.limit(page.limit).offset(page.offset).execute();
  return { count: Number(count), tasks: rows.map(toTask) };
}

export async function findTask(db: Queries, { projectId, kind }: TasksOf, id: string): Promise<Task | undefined> {
  const row = await db
    .selectFrom('tasks')
    .selectAll()
    .where('id', '=', id)
    .where('project_id', '=', projectId)
    .where('kind', '=', kind)
    .executeTakeFirst();
  return row && toTask(row);
}

/** Number of tasks that have not ended. */
export async function countOpenTasks(db: Queries, { projectId, kind }: TasksOf): Promise<number> {
  const { count } = await db
    .selectFrom('tasks')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('project_id', '=', projectId)
    .where('kind', '=', kind)
    .where('state', 'in', ['queued', 'running'])
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Returns false if the task had ended. */
export async function cancelTask(db: Queries, { projectId, kind }: TasksOf, id: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('tasks')
    .set({ state: 'cancelled', ...ended(now) })
    .where('id', '=', id)
    .where('project_id', '=', projectId)
    .where('kind', '=', kind)
    .where('state', 'in', ['queued', 'running'])
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Deletes a task that has ended. */
export async function deleteTask(
  db: Queries,
  { id, projectId, kind }: TasksOf & { readonly id: string },
): Promise<void> {
  await db
    .deleteFrom('tasks')
    .where('id', '=', id)
    .where('project_id', '=', projectId)
    .where('kind', '=', kind)
    .where('state', 'not in', ['queued', 'running'])
    .execute();
}

/** Ends the leases of running tasks of a kind, after a crash of the only process that works on them. */
export async function expireTasks(db: Queries, kind: string): Promise<void> {
  await db
    .updateTable('tasks')
    .set({ lease_until: isoMicros(0) })
    .where('kind', '=', kind)
    .where('state', '=', 'running')
    .execute();
}

/** Claims the oldest task of a kind that is queued or whose lease has expired. */
export async function claimTask(
  db: Queries,
  kind: string,
  { now, leaseMs }: { readonly now: number; readonly leaseMs: number },
): Promise<ClaimedTask | undefined> {
  return claimNext(
    () =>
      db
        .selectFrom('tasks')
        .selectAll()
        .where('kind', '=', kind)
        .where((eb) => eb.or([eb('state', '=', 'queued'), isExpired(now)]))
        .orderBy('created_at')
        .orderBy('id')
        .limit(1)
        .executeTakeFirst(),
    async (found) => {
      const taken = claimed(found, now, leaseMs);
      const { numUpdatedRows } = await db
        .updateTable('tasks')
        .set({ ...taken, started_at: found.started_at ?? isoMicros(now) })
        .where(isStill(found))
        .executeTakeFirst();
      if (numUpdatedRows === 0n) return undefined;
      const { projectId, spec, progress } = toTask(found);
      const secrets = JSON.parse(found.secrets) as Record<string, string>;
      return { id: found.id, epoch: taken.attempts, projectId, spec, progress, secrets };
    },
  );
}

/** Writes columns of a task under its lease; returns false when the lease is lost, here and below. */
async function writeHeld(db: Queries, held: Lease, columns: Partial<Selectable<Database['tasks']>>): Promise<boolean> {
  const { numUpdatedRows } = await db.updateTable('tasks').set(columns).where(isHeld(held)).executeTakeFirst();
  return numUpdatedRows > 0n;
}

export function renewTask(db: Queries, held: Lease, until: number): Promise<boolean> {
  return writeHeld(db, held, { lease_until: isoMicros(until) });
}

/** Reads only, unlike `renewTask`. */
export async function isTaskHeld(db: Queries, held: Lease): Promise<boolean> {
  return (await db.selectFrom('tasks').select('id').where(isHeld(held)).executeTakeFirst()) !== undefined;
}

/** Ends the lease, so that the next worker that polls can claim it. */
export function releaseTask(db: Queries, held: Lease): Promise<boolean> {
  return writeHeld(db, held, { lease_until: isoMicros(0) });
}

export function saveTaskProgress(db: Queries, held: Lease, progress: unknown): Promise<boolean> {
  return writeHeld(db, held, { progress: JSON.stringify(progress), error: '' });
}

/** Records why the task does not advance; empty: it does. */
export function noteTaskError(db: Queries, held: Lease, error: string): Promise<boolean> {
  return writeHeld(db, held, { error: error.slice(0, errorCharsMax) });
}

const errorCharsMax = 1000;

export function completeTask(db: Queries, held: Lease, result: unknown, now: number): Promise<boolean> {
  return writeHeld(db, held, { state: 'done', result: JSON.stringify(result), ...ended(now) });
}

export function failTask(db: Queries, held: Lease, error: string, now: number): Promise<boolean> {
  return writeHeld(db, held, { state: 'failed', ...ended(now), error: error.slice(0, errorCharsMax) });
}

/** Deletes tasks of a kind that ended before a time. Returns how many. */
export async function pruneTasks(db: Queries, kind: string, before: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('tasks')
    .where('kind', '=', kind)
    .where('state', 'in', ['done', 'failed', 'cancelled'])
    .where('ended_at', '<', isoMicros(before))
    .executeTakeFirst();
  return Number(numDeletedRows);
}

function ended(now: number) {
  return { lease_until: null, error: '', secrets: '{}', ended_at: isoMicros(now) } as const;
}

function toTask(row: Selectable<Database['tasks']>): Task {
  return {
    id: row.id,
    projectId: row.project_id,
    kind: row.kind,
    state: row.state,
    spec: JSON.parse(row.spec) as unknown,
    progress: row.progress === null ? undefined : (JSON.parse(row.progress) as unknown),
    result: row.result === null ? undefined : (JSON.parse(row.result) as unknown),
    error: row.error,
    createdBy: row.created_by,
    createdAt: row.created_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  };
}
