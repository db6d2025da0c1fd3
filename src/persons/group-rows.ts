import type { Database } from '../metadata/database.ts';
import type { Queries } from '../metadata/queries.ts';
import { chunks, paddedChunks } from './chunks.ts';

const keysPerQuery = 512;
const rowsPerInsert = 256;

export type GroupTypeRow = Readonly<Database['group_types']>;
export type GroupRow = Readonly<Database['groups']>;

export interface GroupChanges {
  readonly types: readonly GroupTypeRow[];
  readonly groups: readonly GroupRow[];
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
    const found = await db
      .selectFrom('groups')
      .selectAll()
      .where('project_id', '=', projectId)
      .where('type_index', '=', typeIndex)
      .where('group_key', 'in', some)
      .execute();
    rows.push(...found);
  }
  return rows;
}

/** Writes the changes of one window. Belongs into the transaction that moves the cursor. */
export async function writeGroupChanges(tx: Queries, changes: GroupChanges): Promise<void> {
  for (const rows of chunks(changes.types, rowsPerInsert)) {
    await tx
      .insertInto('group_types')
      .values([...rows])
      .execute();
  }
  for (const rows of chunks(changes.groups, rowsPerInsert)) {
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
}
