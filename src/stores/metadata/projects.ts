import { sql, type Selectable } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { newId, newKey } from '../../base/ids.ts';
import { bumpConfigRevision } from './config-revision.ts';
import type { Database } from './database.ts';
import { inTransaction, type Queries } from './queries.ts';
import { setImmediate as otherWork } from 'node:timers/promises';
import { readDatabaseTime } from './database-clock.ts';

export interface Project {
  readonly id: number;
  readonly uuid: string;
  readonly organizationId: string;
  readonly name: string;
  /** `phc_…`: public by design, write-only. */
  readonly apiToken: string;
  readonly timezone: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Number of slots that its events are spread over. */
  readonly spread: number;
  /** The largest `spread` ever: events may wait in that many slots, and above 1 slots share persons and groups. */
  readonly spreadMax: number;
}

export interface NewProject {
  readonly organizationId: string;
  readonly name: string;
  /** Default UTC. */
  readonly timezone?: string;
  /** By default a new random token. */
  readonly apiToken?: string;
}

/** Creates a project. Throws a unique violation if the token is taken. */
export async function createProject(db: Queries, input: NewProject, now: number): Promise<Project> {
  return inTransaction(db, async (tx) => {
    const row = await tx
      .insertInto('projects')
      .values({
        uuid: newId(),
        organization_id: input.organizationId,
        name: input.name,
        api_token: input.apiToken ?? newKey('phc_'),
        timezone: input.timezone ?? 'UTC',
        created_at: isoMicros(now),
        updated_at: isoMicros(now),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    await bumpConfigRevision(tx);
    return toProject(row);
  });
}

export async function getProject(db: Queries, id: number): Promise<Project | undefined> {
  const row = await db.selectFrom('projects').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toProject(row);
}

export async function getProjectByToken(db: Queries, apiToken: string): Promise<Project | undefined> {
  const row = await db.selectFrom('projects').selectAll().where('api_token', '=', apiToken).executeTakeFirst();
  return row && toProject(row);
}

export interface ProjectFilter {
  /** By default every organisation. */
  readonly organizationId?: string;
  /** Ids of the projects. `null` or absent means all. */
  readonly ids?: readonly number[] | null;
  /** By default all. */
  readonly limit?: number;
  readonly offset?: number;
}

/** Returns a page of projects in id order, and their number on all pages. */
export async function listProjects(
  db: Queries,
  filter: ProjectFilter = {},
): Promise<{ count: number; projects: Project[] }> {
  const { organizationId, ids, limit, offset = 0 } = filter;
  // SQL has no empty list.
  if (ids?.length === 0) return { count: 0, projects: [] };
  let matching = db.selectFrom('projects');
  if (organizationId !== undefined) matching = matching.where('organization_id', '=', organizationId);
  if (ids) matching = matching.where('id', 'in', ids);
  const { count } = await matching.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  // SQLite does not support an offset without a limit.
  const rows = await matching
    .selectAll()
    .orderBy('id')
    .limit(limit ?? Math.max(count, 1))
    .offset(offset)
    .execute();
  return { count, projects: rows.map(toProject) };
}

export interface ProjectChanges {
  readonly name?: string;
  readonly timezone?: string;
}

/** Returns `undefined` if the project does not exist. */
export async function updateProject(
  db: Queries,
  id: number,
  changes: ProjectChanges,
  now: number,
): Promise<Project | undefined> {
  const { name, timezone } = changes;
  const row = await db
    .updateTable('projects')
    .set({
      ...(name !== undefined && { name }),
      ...(timezone !== undefined && { timezone }),
      updated_at: isoMicros(now),
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
  return row && toProject(row);
}

/** Rotates the token; the old one stops working immediately. Returns undefined if there is no such project. */
export async function rotateProjectToken(db: Queries, id: number, now: number): Promise<Project | undefined> {
  return inTransaction(db, async (tx) => {
    const row = await tx
      .updateTable('projects')
      .set({ api_token: newKey('phc_'), updated_at: isoMicros(now) })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) return undefined;
    await bumpConfigRevision(tx);
    return toProject(row);
  });
}

/**
 * Deletes the project and everything in this store that belongs to it: configs, attachments, jobs, persons, groups, log. Stored events
 * are elsewhere: `inLastTransaction` records that they must be erased. Returns false if there is no such project. The project itself is deleted in the last transaction, so that an
 * interrupted deletion can be repeated. Concurrent writers of a project's rows first ensure, in the same transaction, that
 * the project exists and stays (see pipeline/window-projects.ts).
 */
export async function deleteProject(
  db: Queries,
  id: number,
  inLastTransaction: (tx: Queries) => Promise<unknown> = async () => undefined,
): Promise<boolean> {
  if ((await getProject(db, id)) === undefined) return false;
  await deleteProjectRows(db, id);
  return inTransaction(db, async (tx) => {
    const deleted = await tx.deleteFrom('projects').where('id', '=', id).returning('id').executeTakeFirst();
    if (deleted === undefined) return false;
    // The project first: from here on no rows are added. Then what the pipeline has written until now.
    await deleteProjectRows(tx, id);
    await inLastTransaction(tx);
    await bumpConfigRevision(tx);
    return true;
  });
}

function toProject(row: Selectable<Database['projects']>): Project {
  return {
    id: row.id,
    uuid: row.uuid,
    organizationId: row.organization_id,
    name: row.name,
    apiToken: row.api_token,
    timezone: row.timezone,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    spread: row.spread,
    spreadMax: row.spread_max,
  };
}

/** Tables with rows of a project that no foreign key removes, and the column by which they are deleted in chunks. */
const tables = [
  ['activity_log', 'id'],
  ['dead_letter_replays', 'id'],
  ['dead_letters', 'id'],
  ['group_types', 'name'],
  ['groups', 'group_key'],
  ['historical_budgets', 'project_id'],
  ['import_days', 'day'],
  ['import_load_marks', 'mark'],
  ['import_loads', 'run_id'],
  ['import_parts', 'seq'],
  ['import_runs', 'id'],
  ['import_upload_pieces', 'staging_key'],
  ['import_uploads', 'name'],
  ['ingestion_warnings', 'hour'],
  ['kept_out_ids', 'id_hash'],
  ['person_distinct_ids', 'distinct_id'],
  ['persons', 'uuid'],
  ['plugin_errors', 'fingerprint'],
  ['plugin_logs', 'id'],
  ['plugin_metrics', 'hour'],
  ['plugin_own_metrics', 'hour'],
  ['plugin_storage', 'key'],
  ['profile_rebuild_keys', 'key'],
  ['profile_rebuilds', 'id'],
  ['sample_events', 'id'],
  ['tasks', 'id'],
  ['tracking_plan_violations', 'hour'],
] as const satisfies readonly (readonly [table: keyof Database, key: string])[];

/** About 20 ms of SQLite's time, and worth a separate commit: chunks of 2,000 took four times as long in total. */
const rowsPerChunk = 10_000;

/**
 * Deletes those rows. There may be millions: between chunks the thread does other work, and outside a transaction other
 * writers get their turn.
 */
export async function deleteProjectRows(db: Queries, projectId: number): Promise<void> {
  await rememberRuns(db, projectId, isoMicros(await readDatabaseTime(db)));
  for (const [table, key] of tables) {
    while ((await deletePiece(db, table, key, projectId)) >= rowsPerChunk) await otherWork();
  }
}

async function deletePiece(db: Queries, table: string, key: string, projectId: number): Promise<number> {
  const [from, column] = [sql.table(table), sql.ref(key)];
  const chunk = sql`select ${column} from ${from} where project_id = ${projectId} limit ${rowsPerChunk}`;
  const deletion = sql`delete from ${from} where project_id = ${projectId} and ${column} in (${chunk})`;
  const { numAffectedRows } = await deletion.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** Remembers runs whose files are outside of this store and are removed later (imports/run/remove-old-staging.ts). */
async function rememberRuns(db: Queries, projectId: number, time: string): Promise<void> {
  await db
    .insertInto('import_leftovers')
    .columns(['run_id', 'created_at'])
    .expression((eb) =>
      eb
        .selectFrom('import_runs')
        .select((of) => ['id', of.val(time).as('created_at')])
        .where('project_id', '=', projectId),
    )
    .onConflict((conflict) => conflict.column('run_id').doNothing())
    .execute();
}
