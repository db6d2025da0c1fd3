/** Limits that projects have instead of the defaults of the service. */
import { isoMicros } from '../../base/clock.ts';
import { noOverrides, type LimitOverrides } from '../../wire/contract/project-limits.ts';
import { bumpConfigRevision } from './config-revision.ts';
import type { Queries } from './queries.ts';

export interface StoredLimits {
  readonly limits: LimitOverrides;
  /** Null if they were never changed. */
  readonly updatedAt: string | null;
}

export async function findLimits(db: Queries, projectId: number): Promise<StoredLimits> {
  const row = await db.selectFrom('project_limits').selectAll().where('project_id', '=', projectId).executeTakeFirst();
  return row === undefined
    ? { limits: noOverrides, updatedAt: null }
    : { limits: read(row.limits), updatedAt: row.updated_at };
}

/** Returns the limits of all projects that have their own. */
export async function listLimits(db: Queries): Promise<ReadonlyMap<number, LimitOverrides>> {
  const rows = await db.selectFrom('project_limits').selectAll().execute();
  return new Map(rows.map(({ project_id: id, limits }) => [id, read(limits)]));
}

/** Saves limits; every process applies them within seconds. `now` in ms. */
export async function saveLimits(tx: Queries, projectId: number, limits: LimitOverrides, now: number): Promise<void> {
  const columns = { limits: JSON.stringify(limits), updated_at: isoMicros(now) };
  await tx
    .insertInto('project_limits')
    .values({ project_id: projectId, ...columns })
    .onConflict((conflict) => conflict.column('project_id').doUpdateSet(columns))
    .execute();
  await bumpConfigRevision(tx);
}

export interface LimitedProject {
  readonly projectId: number;
  /** Events refused within the present hour. */
  readonly events: number;
}

/** A project whose last refusal is longer ago is no longer limited. */
const limitedMs = 120_000;

/** Returns projects that are refused events because of their limits, at most `max`. `now` in ms. */
export async function findLimited(
  db: Queries,
  now: number,
  max: number,
  projectId?: number,
): Promise<LimitedProject[]> {
  let query = db
    .selectFrom('ingestion_warnings')
    .select(['project_id', 'count'])
    .where('type', '=', 'project_limit_exceeded')
    .where('last_seen', '>', isoMicros(now - limitedMs));
  if (projectId !== undefined) query = query.where('project_id', '=', projectId);
  const rows = await query.orderBy('hour', 'desc').limit(max).execute();
  const newest = new Map<number, LimitedProject>();
  for (const { project_id: id, count } of rows) {
    if (!newest.has(id)) newest.set(id, { projectId: id, events: Number(count) });
  }
  return [...newest.values()];
}

function read(json: string): LimitOverrides {
  return { ...noOverrides, ...(JSON.parse(json) as Partial<LimitOverrides>) };
}
