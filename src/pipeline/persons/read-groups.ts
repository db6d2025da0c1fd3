import { sql } from 'kysely';
import type { GroupRecord } from '../../wire/contract/groups.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { isoOfMicros } from '../../base/clock.ts';
import { likeText } from './like-text.ts';
import type { GroupRow } from './group-rows.ts';
import { parseRegisters } from './registers-text.ts';
import { propertiesOf } from './registers.ts';

/** Lists groups by key. `search` selects keys that contain it, ignoring case. */
export async function listGroups(
  db: Queries,
  projectId: number,
  { typeIndex, search }: { readonly typeIndex: number; readonly search?: string | undefined },
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly count: number; readonly groups: GroupRecord[] }> {
  let ofType = db.selectFrom('groups').where('project_id', '=', projectId).where('type_index', '=', typeIndex);
  if (search !== undefined) {
    const pattern = `%${likeText(search)}%`;
    ofType = ofType.where(sql<boolean>`lower(group_key) like lower(${pattern}) escape '\\'`);
  }
  const { count } = await ofType.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  const rows = await ofType.selectAll().orderBy('group_key').limit(page.limit).offset(page.offset).execute();
  return { count: Number(count), groups: rows.map(toShown) };
}

export async function findGroup(
  db: Queries,
  projectId: number,
  typeIndex: number,
  key: string,
): Promise<GroupRecord | undefined> {
  const row = await db
    .selectFrom('groups')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('type_index', '=', typeIndex)
    .where('group_key', '=', key)
    .executeTakeFirst();
  return row && toShown(row);
}

export async function listGroupTypes(
  db: Queries,
  projectId: number,
): Promise<{ group_type: string; group_type_index: number }[]> {
  const rows = await db
    .selectFrom('group_types')
    .select(['name', 'type_index'])
    .where('project_id', '=', projectId)
    .orderBy('type_index')
    .execute();
  return rows.map((row) => ({ group_type: row.name, group_type_index: row.type_index }));
}

function toShown(row: GroupRow): GroupRecord {
  return {
    group_type_index: row.type_index,
    group_key: row.group_key,
    group_properties: propertiesOf(parseRegisters(row.registers)),
    created_at: isoOfMicros(row.created_at_micros),
  };
}
