import type { Queries } from '../../stores/metadata/queries.ts';
import { idsOfPersons } from './ids-of-persons.ts';

/** Reads all persons and groups of a project, page by page in the order of their keys. */

export interface StoredPerson {
  readonly uuid: string;
  /** Sorted. */
  readonly distinctIds: readonly string[];
  /** The id that it was created for. Null if that was not recorded. */
  readonly firstId: string | null;
  readonly isIdentified: boolean;
  readonly createdAtMicros: number;
  /** As in the table. */
  readonly registers: string;
  readonly version: number;
}

export async function personsAfter(
  db: Queries,
  projectId: number,
  afterUuid: string,
  limit: number,
): Promise<StoredPerson[]> {
  const rows = await db
    .selectFrom('persons')
    .select(['uuid', 'created_at_micros', 'is_identified', 'registers', 'first_id', 'version'])
    .where('project_id', '=', projectId)
    .where('uuid', '>', afterUuid)
    .orderBy('uuid')
    .limit(limit)
    .execute();
  const uuids = rows.map(({ uuid }) => uuid);
  const ids = Map.groupBy(await idsOfPersons(db, projectId, uuids), ({ person_uuid }) => person_uuid);
  return rows.map((row) => ({
    uuid: row.uuid,
    distinctIds: (ids.get(row.uuid) ?? []).map(({ distinct_id }) => distinct_id).sort(),
    firstId: row.first_id,
    isIdentified: row.is_identified === 1,
    createdAtMicros: row.created_at_micros,
    registers: row.registers,
    version: row.version,
  }));
}

export interface StoredGroup {
  readonly type: string;
  readonly typeIndex: number;
  readonly key: string;
  readonly createdAtMicros: number;
  readonly registers: string;
}

export interface GroupPlace {
  readonly typeIndex: number;
  readonly key: string;
}

export async function groupsAfter(
  db: Queries,
  projectId: number,
  after: GroupPlace | undefined,
  limit: number,
): Promise<StoredGroup[]> {
  let query = db
    .selectFrom('groups as g')
    .innerJoin('group_types as t', (join) =>
      join.onRef('t.project_id', '=', 'g.project_id').onRef('t.type_index', '=', 'g.type_index'),
    )
    .select(['t.name', 'g.type_index', 'g.group_key', 'g.created_at_micros', 'g.registers'])
    .where('g.project_id', '=', projectId);
  if (after !== undefined) {
    const { typeIndex, key } = after;
    query = query.where((eb) =>
      eb.or([
        eb('g.type_index', '>', typeIndex),
        eb.and([eb('g.type_index', '=', typeIndex), eb('g.group_key', '>', key)]),
      ]),
    );
  }
  const rows = await query.orderBy('g.type_index').orderBy('g.group_key').limit(limit).execute();
  return rows.map((row) => ({
    type: row.name,
    typeIndex: row.type_index,
    key: row.group_key,
    createdAtMicros: row.created_at_micros,
    registers: row.registers,
  }));
}
