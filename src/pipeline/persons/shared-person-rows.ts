import { hasStoreAlone, type Queries } from '../../stores/metadata/queries.ts';
import { chunks, paddedChunks } from './chunks.ts';
import { expectAll } from './profile-conflict.ts';
import { idsPerQuery, inOrder, rowsPerInsert, writeMerge, type PersonChanges, type PersonRow } from './person-rows.ts';

/** Version of a stored person from which something was computed. */
export interface SeenPerson {
  readonly projectId: number;
  readonly uuid: string;
  readonly version: number;
}

/** Changes to persons that other slots change as well. Rows of `persons` that are not `seen` are new. */
export interface SharedPersonChanges extends PersonChanges {
  readonly seen: readonly SeenPerson[];
}

/**
 * Writes changes to persons that several slots share. Each person that they depend on is locked, in the same order by every slot, and
 * must still have the version that was seen. That covers the owner of an id as well, since adding or removing an id changes the
 * person's version. An id or a person that was new must still be new.
 *
 * @throws ProfileConflictError
 */
export async function writeSharedPersons(tx: Queries, changes: SharedPersonChanges): Promise<void> {
  await lockSeen(tx, changes.seen);
  const isSeen = new Set(changes.seen.map(keyOf));
  const keyOfRow = ({ project_id: projectId, uuid }: PersonRow): string => keyOf({ projectId, uuid });
  const rows = inOrder(changes.persons, keyOfRow);
  const known = rows.filter((row) => isSeen.has(keyOfRow(row)));
  const added = rows.filter((row) => !isSeen.has(keyOfRow(row)));
  for (const some of chunks(known, rowsPerInsert)) await changePersons(tx, some);
  for (const some of chunks(added, rowsPerInsert)) await addPersons(tx, some);
  for (const some of chunks(
    inOrder(changes.distinctIds, (row) => `${row.project_id}:${row.distinct_id}`),
    rowsPerInsert,
  )) {
    const query = tx.insertInto('person_distinct_ids').values([...some]);
    const inserted = await query
      .onConflict((conflict) => conflict.columns(['project_id', 'distinct_id']).doNothing())
      .returning('distinct_id')
      .execute();
    expectAll(inserted.length, some.length, 'new ids');
  }
  for (const merge of changes.merges) await writeMerge(tx, merge);
}

/** Locks the persons until the transaction ends. */
async function lockSeen(tx: Queries, seen: readonly SeenPerson[]): Promise<void> {
  const byProject = Map.groupBy(seen, ({ projectId }) => projectId);
  for (const projectId of [...byProject.keys()].toSorted((a, b) => a - b)) {
    const versions = new Map((byProject.get(projectId) ?? []).map(({ uuid, version }) => [uuid, version]));
    for (const uuids of paddedChunks([...versions.keys()].toSorted(), idsPerQuery)) {
      const query = tx
        .selectFrom('persons')
        .select(['uuid', 'version'])
        .where('project_id', '=', projectId)
        .where('uuid', 'in', uuids)
        .orderBy('uuid');
      const found = await (hasStoreAlone(tx) ? query : query.forUpdate()).execute();
      const same = found.filter(({ uuid, version }) => versions.get(uuid) === version);
      expectAll(same.length, new Set(uuids).size, 'persons as they were');
    }
  }
}

async function changePersons(tx: Queries, rows: readonly PersonRow[]): Promise<void> {
  await tx
    .insertInto('persons')
    .values([...rows])
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'uuid']).doUpdateSet((eb) => ({
        created_at_micros: eb.ref('excluded.created_at_micros'),
        is_identified: eb.ref('excluded.is_identified'),
        registers: eb.ref('excluded.registers'),
        version: eb('persons.version', '+', 1),
      })),
    )
    .execute();
}

async function addPersons(tx: Queries, rows: readonly PersonRow[]): Promise<void> {
  const inserted = await tx
    .insertInto('persons')
    .values([...rows])
    .onConflict((conflict) => conflict.columns(['project_id', 'uuid']).doNothing())
    .returning('uuid')
    .execute();
  expectAll(inserted.length, rows.length, 'new persons');
}

function keyOf({ projectId, uuid }: Pick<SeenPerson, 'projectId' | 'uuid'>): string {
  return `${projectId}:${uuid}`;
}
