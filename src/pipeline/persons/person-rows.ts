import type { Database } from '../../stores/metadata/database.ts';
import { compiledSql, parametersOfRows, placesOfRows, textPlaces } from '../../stores/metadata/compiled-sql.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { chunks, paddedChunks } from './chunks.ts';

export const idsPerQuery = 512;
export const rowsPerInsert = 256;

export interface PersonRow extends Readonly<Omit<Database['persons'], 'version' | 'first_id'>> {
  /** The id that a new person was created for; stored ones keep theirs. */
  readonly first_id?: string | null;
}
type LoadedPerson = PersonRow & { readonly version: number; readonly distinct_id: string };
export interface DistinctIdRow extends Readonly<Omit<Database['person_distinct_ids'], 'is_first'>> {
  /** 1: it is the `first_id` of its person. */
  readonly is_first?: 1 | null;
}

/** `from` was merged into `to`: its ids move and it is deleted. */
export interface MergeRow {
  readonly projectId: number;
  readonly from: string;
  readonly to: string;
}

/** Changes of a window, ready to be written. */
export interface PersonChanges {
  readonly persons: readonly PersonRow[];
  /** Those of `persons` whose stored creation time is the same: not writing it saves the index update, more than half of the work. */
  readonly sameCreation: ReadonlySet<PersonRow>;
  readonly distinctIds: readonly DistinctIdRow[];
  readonly merges: readonly MergeRow[];
}

const knownColumns = [
  'project_id',
  'uuid',
  'created_at_micros',
  'is_identified',
  'registers',
] as const satisfies readonly (keyof PersonRow)[];
const personColumns = [...knownColumns, 'first_id'] as const satisfies readonly (keyof PersonRow)[];
const distinctIdColumns = ['project_id', 'distinct_id', 'person_uuid', 'is_first'] as const;

/** Parameters: the project and ids. */
const selectPersons = compiledSql<LoadedPerson>((db, [projectId = 0, ...ids]) =>
  db
    .selectFrom('person_distinct_ids as d')
    .innerJoin('persons as p', (join) =>
      join.onRef('p.project_id', '=', 'd.project_id').onRef('p.uuid', '=', 'd.person_uuid'),
    )
    .select(['d.distinct_id', 'p.project_id', 'p.uuid', 'p.created_at_micros', 'p.is_identified', 'p.registers'])
    .select('p.version')
    .where('d.project_id', '=', projectId)
    .where('d.distinct_id', 'in', textPlaces(ids)),
);

const upsertPersons = compiledSql((tx, places) =>
  insertPersons(tx, places, personColumns).onConflict((conflict) =>
    conflict.columns(['project_id', 'uuid']).doUpdateSet((eb) => ({
      created_at_micros: eb.ref('excluded.created_at_micros'),
      is_identified: eb.ref('excluded.is_identified'),
      registers: eb.ref('excluded.registers'),
      first_id: eb.fn.coalesce('excluded.first_id', 'persons.first_id'),
    })),
  ),
);

const upsertSameCreation = compiledSql((tx, places) =>
  insertPersons(tx, places, knownColumns).onConflict((conflict) =>
    conflict.columns(['project_id', 'uuid']).doUpdateSet((eb) => ({
      is_identified: eb.ref('excluded.is_identified'),
      registers: eb.ref('excluded.registers'),
    })),
  ),
);

function insertPersons(tx: Queries, places: readonly number[], columns: readonly (keyof PersonRow)[]) {
  return tx.insertInto('persons').values(placesOfRows<PersonRow>(places, columns));
}

const upsertDistinctIds = compiledSql((tx, places) =>
  tx
    .insertInto('person_distinct_ids')
    .values(placesOfRows<DistinctIdRow>(places, distinctIdColumns))
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'distinct_id']).doUpdateSet((eb) => ({
        person_uuid: eb.ref('excluded.person_uuid'),
        is_first: eb.ref('excluded.is_first'),
      })),
    ),
);

/** Loads persons by distinct id; ids without a person are omitted. */
export async function loadPersons(
  db: Queries,
  projectId: number,
  distinctIds: readonly string[],
): Promise<LoadedPerson[]> {
  const found = new Map<string, LoadedPerson>();
  for (const ids of paddedChunks(distinctIds, idsPerQuery)) {
    for (const row of await selectPersons(db, [projectId, ...ids])) found.set(row.distinct_id, row);
  }
  return [...found.values()];
}

/** Parameters: the project and persons. */
const selectIdCounts = compiledSql<{ readonly uuid: string; readonly count: number }>((db, [projectId = 0, ...uuids]) =>
  db
    .selectFrom('persons as p')
    .leftJoin('person_distinct_ids as d', (join) =>
      join
        .onRef('d.project_id', '=', 'p.project_id')
        .onRef('d.person_uuid', '=', 'p.uuid')
        .on('d.is_first', 'is', null),
    )
    // The id that a person was created for is not in the index of ids by person: the person's row contains it.
    .select((eb) => [
      'p.uuid',
      eb(eb.fn.count<number>('d.distinct_id'), '+', eb.fn.count<number>('p.first_id').distinct()).as('count'),
    ])
    .where('p.project_id', '=', projectId)
    .where('p.uuid', 'in', textPlaces(uuids))
    .groupBy(['p.uuid', 'p.first_id']),
);

/** Counts the ids of these persons. */
export async function countIds(
  db: Queries,
  projectId: number,
  uuids: readonly string[],
): Promise<{ readonly uuid: string; readonly count: number }[]> {
  const found: { readonly uuid: string; readonly count: number }[] = [];
  for (const some of paddedChunks(uuids, idsPerQuery)) {
    found.push(...(await selectIdCounts(db, [projectId, ...some])));
  }
  return found;
}

/** Writes the changes of one window. Belongs in the transaction that moves the cursor. */
export async function writePersonChanges(tx: Queries, changes: PersonChanges): Promise<void> {
  const persons = byUuid(changes.persons);
  const isSame = (row: PersonRow): boolean => changes.sameCreation.has(row);
  for (const rows of chunks(persons.filter(isSame), rowsPerInsert)) {
    await upsertSameCreation(tx, parametersOfRows(rows, knownColumns));
  }
  const others = persons.filter((row) => !isSame(row));
  for (const rows of chunks(others, rowsPerInsert)) await upsertPersons(tx, parametersOfRows(rows, personColumns));
  for (const rows of chunks(
    inOrder(changes.distinctIds, (row) => row.distinct_id),
    rowsPerInsert,
  )) {
    await upsertDistinctIds(tx, parametersOfRows(rows, distinctIdColumns));
  }
  for (const merge of changes.merges) await writeMerge(tx, merge);
}

/** Sorts rows by the table's key, so that rows of one page are written in sequence. */
export function inOrder<T>(rows: readonly T[], keyOf: (row: T) => string): readonly T[] {
  return rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : Number(keyOf(a) > keyOf(b))));
}

/** Bits of a row's index, which together with the first 32 bits of its uuid form a safe integer. */
const placeBits = 21;

/** Sorts by the first digits of the uuid, which is good enough: numbers are sorted many times faster than texts. */
function byUuid(rows: readonly PersonRow[]): readonly PersonRow[] {
  if (rows.length >= 2 ** placeBits) return inOrder(rows, (row) => row.uuid);
  const keys = Float64Array.from(rows, ({ uuid }, at) => Number.parseInt(uuid.slice(0, 8), 16) * 2 ** placeBits + at);
  return Array.from(keys.sort(), (key) => rows[key % 2 ** placeBits] as PersonRow);
}

export async function writeMerge(tx: Queries, { projectId, from, to }: MergeRow): Promise<void> {
  const ids = tx.updateTable('person_distinct_ids').where('project_id', '=', projectId).where('person_uuid', '=', from);
  await ids.set({ person_uuid: to }).where('is_first', 'is', null).execute();
  await ids
    .set({ person_uuid: to, is_first: null })
    .where('distinct_id', '=', firstIdsOf(tx, projectId, [from]))
    .execute();
  await tx.deleteFrom('persons').where('project_id', '=', projectId).where('uuid', '=', from).execute();
}

/** Selects the ids that these persons were created for, which are not in the index of ids by person. */
export function firstIdsOf(db: Queries, projectId: number, uuids: readonly string[]) {
  return db
    .selectFrom('persons')
    .select((eb) => eb.ref('first_id').$notNull().as('first_id'))
    .where('project_id', '=', projectId)
    .where('uuid', 'in', uuids);
}
