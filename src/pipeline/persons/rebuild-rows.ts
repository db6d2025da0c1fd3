import type { Queries } from '../../stores/metadata/queries.ts';
import { paddedChunks } from './chunks.ts';
import { idsOfPersons } from './ids-of-persons.ts';
import { firstIdsOf } from './person-rows.ts';

const perQuery = 512;

/** Persons of some ids, with all of their ids. */
export interface PersonGroup {
  readonly uuids: readonly string[];
  readonly distinctIds: readonly string[];
}

export async function personsWithIds(
  db: Queries,
  projectId: number,
  distinctIds: readonly string[],
): Promise<PersonGroup> {
  const uuids = new Set<string>();
  for (const ids of paddedChunks(distinctIds, perQuery)) {
    const rows = await db
      .selectFrom('person_distinct_ids')
      .select('person_uuid')
      .distinct()
      .where('project_id', '=', projectId)
      .where('distinct_id', 'in', ids)
      .execute();
    for (const row of rows) uuids.add(row.person_uuid);
  }
  const ids = await idsOfPersons(db, projectId, [...uuids]);
  return { uuids: [...uuids], distinctIds: ids.map((row) => row.distinct_id) };
}

/** Removes persons with all of their ids. */
export async function removePersons(tx: Queries, projectId: number, uuids: readonly string[]): Promise<void> {
  for (const some of paddedChunks(uuids, perQuery)) {
    const ids = tx
      .deleteFrom('person_distinct_ids')
      .where('project_id', '=', projectId)
      .where('person_uuid', 'in', some);
    await ids.where('is_first', 'is', null).execute();
    await ids.where('distinct_id', 'in', firstIdsOf(tx, projectId, some)).execute();
    await tx.deleteFrom('persons').where('project_id', '=', projectId).where('uuid', 'in', some).execute();
  }
}

/** @returns the number of groups removed */
export async function removeGroups(
  tx: Queries,
  projectId: number,
  typeIndex: number,
  keys: readonly string[],
): Promise<number> {
  let removed = 0;
  for (const some of paddedChunks(keys, perQuery)) {
    const { numDeletedRows } = await tx
      .deleteFrom('groups')
      .where('project_id', '=', projectId)
      .where('type_index', '=', typeIndex)
      .where('group_key', 'in', some)
      .executeTakeFirst();
    removed += Number(numDeletedRows);
  }
  return removed;
}

/** Removes group types with their groups, which makes room for other types. */
export async function removeGroupTypes(tx: Queries, projectId: number, names: readonly string[]): Promise<number> {
  const types = await tx
    .selectFrom('group_types')
    .select(['name', 'type_index'])
    .where('project_id', '=', projectId)
    .where('name', 'in', names)
    .execute();
  for (const { name, type_index: index } of types) {
    await tx.deleteFrom('groups').where('project_id', '=', projectId).where('type_index', '=', index).execute();
    await tx.deleteFrom('group_types').where('project_id', '=', projectId).where('name', '=', name).execute();
  }
  return types.length;
}
