import type { Selectable } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { bumpConfigRevision } from './config-revision.ts';
import type { Database } from './database.ts';
import type { Queries } from './queries.ts';

/** A version of a project's tracking plan. */
export interface PlanVersion {
  readonly version: number;
  /** JSON text; `null` if this version removed the plan. */
  readonly plan: string | null;
  readonly createdAt: string;
  /** The user who saved it, unless it was the service or the user has been deleted. */
  readonly user: { readonly id: number; readonly first_name: string; readonly email: string } | null;
}

/** Versions kept per project; older ones are removed. */
const versionsMax = 100;

type Row = Pick<Selectable<Database['tracking_plans']>, 'version' | 'plan' | 'created_at' | 'user_id'> & {
  readonly first_name: string | null;
  readonly email: string | null;
};

function select(db: Queries, projectId: number) {
  return db
    .selectFrom('tracking_plans as p')
    .leftJoin('users as u', 'u.id', 'p.user_id')
    .select(['p.version', 'p.plan', 'p.created_at', 'p.user_id', 'u.first_name', 'u.email'])
    .where('p.project_id', '=', projectId)
    .orderBy('p.version', 'desc');
}

/** Returns the version that applies, which may have removed the plan; `undefined` if there never was one. */
export async function findPlan(db: Queries, projectId: number): Promise<PlanVersion | undefined> {
  const row = await select(db, projectId).limit(1).executeTakeFirst();
  return row && toVersion(row);
}

export async function findPlanVersion(
  db: Queries,
  projectId: number,
  version: number,
): Promise<PlanVersion | undefined> {
  const row = await select(db, projectId).where('p.version', '=', version).executeTakeFirst();
  return row && toVersion(row);
}

/** Returns a page of versions, newest first, and their number on all pages. */
export async function listPlanVersions(
  db: Queries,
  projectId: number,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly count: number; readonly versions: readonly PlanVersion[] }> {
  const { count } = await db
    .selectFrom('tracking_plans')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow();
  const rows = await select(db, projectId).limit(limit).offset(offset).execute();
  return { count: Number(count), versions: rows.map(toVersion) };
}

/**
 * Saves a plan as the version after `before`; `null` removes it. Belongs in a transaction that called `lockConfig` before it read
 * the version. Pipelines see the
 * change before their next window.
 */
export async function savePlan(
  tx: Queries,
  {
    projectId,
    before,
    plan,
    userId,
    now,
  }: {
    readonly projectId: number;
    /** Version that applies until now; 0 without an earlier one. */
    readonly before: number;
    readonly plan: string | null;
    readonly userId: number | null;
    /** ms since the epoch. */
    readonly now: number;
  },
): Promise<void> {
  const version = before + 1;
  await tx
    .insertInto('tracking_plans')
    .values({ project_id: projectId, version, plan, created_at: isoMicros(now), user_id: userId })
    .execute();
  await tx
    .deleteFrom('tracking_plans')
    .where('project_id', '=', projectId)
    .where('version', '<=', version - versionsMax)
    .execute();
  await bumpConfigRevision(tx);
}

/** Returns the number of the version that applies, for each of the projects that has one. */
export async function planVersions(db: Queries, projectIds: readonly number[]): Promise<ReadonlyMap<number, number>> {
  if (projectIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('tracking_plans')
    .select(['project_id', (eb) => eb.fn.max('version').as('version')])
    .where('project_id', 'in', projectIds)
    .groupBy('project_id')
    .execute();
  return new Map(rows.map(({ project_id: id, version }) => [id, Number(version)]));
}

function toVersion({ version, plan, created_at: createdAt, user_id: id, first_name: name, email }: Row): PlanVersion {
  const user = id === null || name === null ? null : { id, first_name: name, email: email ?? '' };
  return { version, plan, createdAt, user };
}
