import { isoMicros } from '../../base/clock.ts';
import type { Database } from './database.ts';
import type { Queries } from './queries.ts';

/**
 * Work for the pipeline, which caches persons and groups and alone writes them: rebuild these from the stored events.
 *
 * | from      | to        | by                                          |
 * | --------- | --------- | ------------------------------------------- |
 * | –         | collected | the caller adds the affected keys           |
 * | collected | due       | the caller, once the events are deleted     |
 * | due       | done      | the pipeline, when no key is left           |
 */
export type RebuildState = 'collected' | 'due' | 'done';

/** In the order of processing. */
export const rebuildKinds = ['person', 'group', 'group_type'] as const;
export type RebuildKind = (typeof rebuildKinds)[number];

/** Results up to now. */
export interface RebuildCounts {
  /** Persons before and after the rebuild. */
  readonly persons_before: number;
  readonly persons_after: number;
  readonly groups_before: number;
  readonly groups_after: number;
  readonly group_types_removed: number;
  /** Ids that stored events tie to too many others: only those of the same person were rebuilt with them. */
  readonly ties_not_followed: number;
}

const noRebuildCounts: RebuildCounts = {
  persons_before: 0,
  persons_after: 0,
  groups_before: 0,
  groups_after: 0,
  group_types_removed: 0,
  ties_not_followed: 0,
};

export interface Rebuild {
  readonly id: string;
  readonly projectId: number;
  readonly state: RebuildState;
  /** Belongs to the caller. */
  readonly detail: unknown;
  readonly counts: RebuildCounts;
  /** Per import run, when its events count as received, µs. Other events count at their time of receipt. */
  readonly arrivals: Readonly<Record<string, number>>;
  readonly error: string;
}

const rowsPerInsert = 500;

/** Starts a rebuild, unless it exists. `now` in ms. */
export async function beginRebuild(
  db: Queries,
  { id, projectId, detail, now }: Pick<Rebuild, 'id' | 'projectId' | 'detail'> & { readonly now: number },
): Promise<void> {
  const row = {
    id,
    project_id: projectId,
    state: 'collected' satisfies RebuildState,
    detail: JSON.stringify(detail),
    counts: JSON.stringify(noRebuildCounts),
    arrivals: '{}',
    error: '',
    created_at: isoMicros(now),
  };
  await db
    .insertInto('profile_rebuilds')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

export async function findRebuild(db: Queries, id: string): Promise<Rebuild | undefined> {
  const row = await db.selectFrom('profile_rebuilds').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toRebuild(row);
}

/** Returns the rebuilds that the pipeline can process, oldest first. */
export async function dueRebuilds(db: Queries): Promise<readonly Pick<Rebuild, 'id' | 'projectId'>[]> {
  const due: RebuildState = 'due';
  return await db
    .selectFrom('profile_rebuilds')
    .select(['id', 'project_id as projectId'])
    .where('state', '=', due)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** Returns the rebuilds of a project whose keys or events are still changing. */
export async function unfinishedRebuilds(db: Queries, projectId: number): Promise<readonly Rebuild[]> {
  const collected: RebuildState = 'collected';
  const rows = await db
    .selectFrom('profile_rebuilds')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('state', '=', collected)
    .execute();
  return rows.map(toRebuild);
}

function toRebuild(row: Readonly<Database['profile_rebuilds']>): Rebuild {
  return {
    id: row.id,
    projectId: row.project_id,
    state: row.state as RebuildState,
    detail: JSON.parse(row.detail),
    counts: JSON.parse(row.counts) as RebuildCounts,
    arrivals: JSON.parse(row.arrivals) as Rebuild['arrivals'],
    error: row.error,
  };
}

export async function saveRebuild(
  db: Queries,
  id: string,
  { detail, counts, arrivals, ...same }: Partial<Omit<Rebuild, 'id' | 'projectId'>>,
): Promise<void> {
  const set = {
    ...same,
    ...(detail === undefined ? {} : { detail: JSON.stringify(detail) }),
    ...(counts === undefined ? {} : { counts: JSON.stringify(counts) }),
    ...(arrivals === undefined ? {} : { arrivals: JSON.stringify(arrivals) }),
  };
  await db.updateTable('profile_rebuilds').set(set).where('id', '=', id).execute();
}

/** Adds affected keys; existing ones stay unchanged. */
export async function addRebuildKeys(
  db: Queries,
  { id, projectId }: Pick<Rebuild, 'id' | 'projectId'>,
  kind: RebuildKind,
  keys: readonly string[],
): Promise<void> {
  for (let from = 0; from < keys.length; from += rowsPerInsert) {
    const rows = keys.slice(from, from + rowsPerInsert).map((key) => ({
      rebuild_id: id,
      project_id: projectId,
      kind,
      key,
    }));
    await db
      .insertInto('profile_rebuild_keys')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['rebuild_id', 'kind', 'key']).doNothing())
      .execute();
  }
}

/** Returns remaining keys, in order. */
export async function rebuildKeys(db: Queries, id: string, kind: RebuildKind, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('profile_rebuild_keys')
    .select('key')
    .where('rebuild_id', '=', id)
    .where('kind', '=', kind)
    .orderBy('key')
    .limit(limit)
    .execute();
  return rows.map(({ key }) => key);
}

export async function countRebuildKeys(db: Queries, id: string): Promise<Readonly<Record<RebuildKind, number>>> {
  const rows = await db
    .selectFrom('profile_rebuild_keys')
    .select(['kind', (eb) => eb.fn.countAll().as('count')])
    .where('rebuild_id', '=', id)
    .groupBy('kind')
    .execute();
  const counts = new Map(rows.map(({ kind, count }) => [kind, Number(count)]));
  const of = (kind: RebuildKind): number => counts.get(kind) ?? 0;
  return { person: of('person'), group: of('group'), group_type: of('group_type') };
}

/** Removes finished keys. Belongs in the transaction that writes their results. */
export async function removeRebuildKeys(
  tx: Queries,
  id: string,
  kind: RebuildKind,
  keys: readonly string[],
): Promise<void> {
  for (let from = 0; from < keys.length; from += rowsPerInsert) {
    await tx
      .deleteFrom('profile_rebuild_keys')
      .where('rebuild_id', '=', id)
      .where('kind', '=', kind)
      .where('key', 'in', keys.slice(from, from + rowsPerInsert))
      .execute();
  }
}

/** Removes a rebuild with its remaining keys. */
export async function removeRebuild(db: Queries, id: string): Promise<void> {
  await db.deleteFrom('profile_rebuild_keys').where('rebuild_id', '=', id).execute();
  await db.deleteFrom('profile_rebuilds').where('id', '=', id).execute();
}
