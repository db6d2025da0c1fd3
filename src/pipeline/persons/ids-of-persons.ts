import type { Queries } from '../../stores/metadata/queries.ts';
import { paddedChunks } from './chunks.ts';

const perQuery = 512;

interface IdOfPerson {
  readonly distinct_id: string;
  readonly person_uuid: string;
}

/** Returns every id of these persons, in no particular order. */
export async function idsOfPersons(db: Queries, projectId: number, uuids: readonly string[]): Promise<IdOfPerson[]> {
  const found: IdOfPerson[] = [];
  for (const some of paddedChunks(uuids, perQuery)) found.push(...(await idsOfSome(db, projectId, some)));
  return found;
}

/** The id that a person was created for is not in the index by person: the person's row contains it. */
function idsOfSome(db: Queries, projectId: number, uuids: readonly string[]): Promise<IdOfPerson[]> {
  const first = db
    .selectFrom('persons')
    .select((eb) => [eb.ref('first_id').$notNull().as('distinct_id'), 'uuid as person_uuid'])
    .where('project_id', '=', projectId)
    .where('uuid', 'in', uuids)
    .where('first_id', 'is not', null);
  return db
    .selectFrom('person_distinct_ids')
    .select(['distinct_id', 'person_uuid'])
    .where('project_id', '=', projectId)
    .where('person_uuid', 'in', uuids)
    .where('is_first', 'is', null)
    .unionAll(first)
    .execute();
}
