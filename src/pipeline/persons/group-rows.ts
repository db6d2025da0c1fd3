import type { Database } from '../../stores/metadata/database.ts';
import { hasStoreAlone, type Queries } from '../../stores/metadata/queries.ts';
import { chunks, paddedChunks } from './chunks.ts';
import { expectAll } from './profile-conflict.ts';

const keysPerQuery = 512;
const rowsPerInsert = 256;

export type GroupTypeRow = Readonly<Database['group_types']>;
export type GroupRow = Readonly<Database['groups']>;

export interface GroupChanges {
  readonly types: readonly GroupTypeRow[];
  readonly groups: readonly GroupRow[];
}

/** Changes to groups that other slots change as well: stored groups are locked, including those in `groups`. */
export interface SharedGroupChanges extends GroupChanges {
  readonly added: readonly GroupRow[];
}

export async function loadGroupTypes(db: Queries, projectIds: readonly number[]): Promise<GroupTypeRow[]> {
  const rows: GroupTypeRow[] = [];
  for (const ids of paddedChunks(projectIds, keysPerQuery)) {
    const found = await db.selectFrom('group_types').selectAll().where('project_id', 'in', ids).execute();
    rows.push(...found);
  }
  return rows;
}

export async function loadGroups(
  db: Queries,
  projectId: number,
  typeIndex: number,
  keys: readonly string[],
): Promise<GroupRow[]> {
  const rows: GroupRow[] = [];
  for (const some of paddedChunks(keys, keysPerQuery)) {
    rows.push(...(await selectGroups(db, projectId, typeIndex, some).execute()));
  }
  return rows;
}

/** Loads groups and locks them until the transaction ends. */
export async function lockGroups(
  tx: Queries,
  projectId: number,
  typeIndex: number,
  keys: readonly string[],
): Promise<GroupRow[]> {
  const rows: GroupRow[] = [];
  for (const some of paddedChunks(keys.toSorted(), keysPerQuery)) {
    const query = selectGroups(tx, projectId, typeIndex, some).orderBy('group_key');
    rows.push(...(await (hasStoreAlone(tx) ? query : query.forUpdate()).execute()));
  }
  return rows;
}

function selectGroups(db: Queries, projectId: number, typeIndex: number, keys: readonly string[]) {
  return db
    .selectFrom('groups')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('type_index', '=', typeIndex)
    .where('group_key', 'in', keys);
}

/** Writes the changes of one window. Belongs in the transaction that moves the cursor. */
export async function writeGroupChanges(tx: Queries, changes: GroupChanges): Promise<void> {
  for (const rows of chunks(changes.types, rowsPerInsert)) {
    await tx
      .insertInto('group_types')
      .values([...rows])
      .execute();
  }
  for (const rows of chunks(changes.groups, rowsPerInsert)) await changeGroups(tx, rows);
}

/** Writes changes in a project whose groups and types other slots change as well. @throws ProfileConflictError */
export async function writeSharedGroups(tx: Queries, changes: SharedGroupChanges): Promise<void> {
  for (const rows of chunks(changes.types, rowsPerInsert)) {
    const query = tx.insertInto('group_types').values([...rows]);
    const inserted = await query
      .onConflict((conflict) => conflict.doNothing())
      .returning('type_index')
      .execute();
    expectAll(inserted.length, rows.length, 'new group types');
  }
  for (const rows of chunks(changes.groups, rowsPerInsert)) await changeGroups(tx, rows);
  for (const rows of chunks(changes.added.toSorted(byKey), rowsPerInsert)) {
    const query = tx.insertInto('groups').values([...rows]);
    const inserted = await query
      .onConflict((conflict) => conflict.columns(['project_id', 'type_index', 'group_key']).doNothing())
      .returning('group_key')
      .execute();
    expectAll(inserted.length, rows.length, 'new groups');
  }
}

function byKey(a: GroupRow, b: GroupRow): number {
  const order = a.project_id - b.project_id || a.type_index - b.type_index;
  return order || (a.group_key < b.group_key ? -1 : Number(a.group_key > b.group_key));
}

async function changeGroups(tx: Queries, rows: readonly GroupRow[]): Promise<void> {
  await tx
    .insertInto('groups')
    .values([...rows])
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'type_index', 'group_key']).doUpdateSet((eb) => ({
        created_at_micros: eb.ref('excluded.created_at_micros'),
        registers: eb.ref('excluded.registers'),
      })),
    )
    .execute();
}
