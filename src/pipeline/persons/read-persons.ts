import { sql } from 'kysely';
import type { PersonRecord } from '../../wire/contract/persons.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { JsonObject } from '../../base/json.ts';
import { likeText } from './like-text.ts';
import { paddedChunks } from './chunks.ts';
import { isoOfMicros } from '../../base/clock.ts';
import { idsOfPersons } from './ids-of-persons.ts';
import type { PersonRow } from './person-rows.ts';
import { canonicalUuid } from '../../base/uuids.ts';
import { parseRegisters } from './registers-text.ts';
import { propertiesOf } from './registers.ts';

type PersonColumns = Omit<PersonRow, 'project_id' | 'first_id'>;

const perQuery = 512;
const sameEmailMax = 1000;
const foundMax = 1000;
const namingProperties = ['email', 'name', 'username'];

/** Returns persons by the ids of their events; ids without a person are omitted. */
export async function personsByDistinctIds(
  db: Queries,
  projectId: number,
  distinctIds: readonly string[],
): Promise<ReadonlyMap<string, PersonRecord>> {
  const uuidOf = new Map<string, string>();
  for (const ids of paddedChunks([...new Set(distinctIds)], perQuery)) {
    const rows = await db
      .selectFrom('person_distinct_ids')
      .select(['distinct_id', 'person_uuid'])
      .where('project_id', '=', projectId)
      .where('distinct_id', 'in', ids)
      .execute();
    for (const row of rows) uuidOf.set(row.distinct_id, row.person_uuid);
  }
  const persons = await personsByUuids(db, projectId, [...new Set(uuidOf.values())]);
  const found = new Map<string, PersonRecord>();
  for (const [distinctId, uuid] of uuidOf) {
    const person = persons.get(uuid);
    if (person !== undefined) found.set(distinctId, person);
  }
  return found;
}

/** Returns undefined if the project has no such person. */
export async function personByUuid(db: Queries, projectId: number, uuid: string): Promise<PersonRecord | undefined> {
  return (await personsByUuids(db, projectId, [uuid])).get(uuid);
}

interface PersonPage {
  readonly limit: number;
  readonly offset: number;
  /** Default: both identified and anonymous persons. */
  readonly isIdentified?: boolean | undefined;
  readonly oldestFirst?: boolean;
}

/** Newest first by default. */
export async function listPersons(db: Queries, projectId: number, page: PersonPage): Promise<PersonRecord[]> {
  const { limit, offset, isIdentified, oldestFirst = false } = page;
  let query = oldestFirst
    ? personsOf(db, projectId).orderBy('created_at_micros').orderBy('uuid')
    : newestFirst(db, projectId);
  if (isIdentified !== undefined) query = query.where('is_identified', '=', isIdentified ? 1 : 0);
  const rows = await query.limit(limit).offset(offset).execute();
  return await withDistinctIds(db, projectId, rows);
}

/** Returns at most 1,000 persons, newest first. Scans the persons of the project: there is no index of properties. */
export async function personsByEmail(db: Queries, projectId: number, email: string): Promise<PersonRecord[]> {
  // Both forms that registers-text.ts writes; LIKE ignores case on some databases, so its results are filtered again.
  const value = JSON.stringify(email);
  const [grouped, single] = [`"email":${value}`, `"email":{"v":${value},`].map((text) => `%${likeText(text)}%`);
  const rows = await newestFirst(db, projectId)
    .where(sql<boolean>`(registers like ${grouped} escape '\\' or registers like ${single} escape '\\')`)
    .limit(sameEmailMax)
    .execute();
  const persons = await withDistinctIds(db, projectId, rows);
  return persons.filter(({ properties }) => properties['email'] === email);
}

/**
 * Returns persons with an id that begins with the text, then those with the text as uuid or email; at most 1,000. Scans the ids of the
 * project, and its persons only if the text looks like an address.
 */
export async function searchPersons(db: Queries, projectId: number, text: string): Promise<PersonRecord[]> {
  const rows = await db
    .selectFrom('person_distinct_ids')
    .select(['distinct_id', 'person_uuid'])
    .where('project_id', '=', projectId)
    .where(sql<boolean>`distinct_id like ${`${likeText(text)}%`} escape '\\'`)
    .orderBy('distinct_id')
    .limit(foundMax)
    .execute();
  // LIKE ignores case on some databases.
  const uuids = rows.filter(({ distinct_id }) => distinct_id.startsWith(text)).map(({ person_uuid }) => person_uuid);
  const found = await personsByUuids(db, projectId, [...new Set([...uuids, text.toLowerCase()])]);
  if (text.includes('@')) {
    for (const person of await personsByEmail(db, projectId, text)) found.set(person.uuid, person);
  }
  return [...found.values()].slice(0, foundMax);
}

function personsOf(db: Queries, projectId: number) {
  const columns = ['uuid', 'created_at_micros', 'is_identified', 'registers'] as const;
  return db.selectFrom('persons').select(columns).where('project_id', '=', projectId);
}

function newestFirst(db: Queries, projectId: number) {
  return personsOf(db, projectId).orderBy('created_at_micros', 'desc').orderBy('uuid');
}

async function personsByUuids(
  db: Queries,
  projectId: number,
  uuids: readonly string[],
): Promise<Map<string, PersonRecord>> {
  const found = new Map<string, PersonRecord>();
  for (const some of paddedChunks(uuids, perQuery)) {
    const rows = await personsOf(db, projectId).where('uuid', 'in', some).execute();
    for (const person of await withDistinctIds(db, projectId, rows)) found.set(person.uuid, person);
  }
  return found;
}

async function withDistinctIds(
  db: Queries,
  projectId: number,
  rows: readonly PersonColumns[],
): Promise<PersonRecord[]> {
  const idsOf = new Map<string, string[]>(rows.map((row) => [row.uuid, []]));
  for (const { distinct_id, person_uuid } of await idsOfPersons(db, projectId, [...idsOf.keys()])) {
    idsOf.get(person_uuid)?.push(distinct_id);
  }
  // Sorted here: with ORDER BY, SQLite would scan every id of the project instead of those of the persons.
  return rows.map((row) => toShown(row, (idsOf.get(row.uuid) ?? []).sort()));
}

function toShown(row: PersonColumns, distinctIds: string[]): PersonRecord {
  const properties = propertiesOf(parseRegisters(row.registers));
  return {
    id: row.uuid,
    uuid: row.uuid,
    name: nameOf(properties) ?? (row.is_identified === 1 ? displayId(distinctIds) : distinctIds[0]) ?? row.uuid,
    distinct_ids: distinctIds,
    properties,
    created_at: isoOfMicros(row.created_at_micros),
    is_identified: row.is_identified === 1,
  };
}

/** Picks the id of an identified person to show: an e-mail address, else one that no device has generated, else any. */
function displayId(distinctIds: readonly string[]): string | undefined {
  const isGenerated = (id: string): boolean => canonicalUuid(id) !== undefined || id.startsWith('$device:');
  return distinctIds.find((id) => id.includes('@')) ?? distinctIds.find((id) => !isGenerated(id)) ?? distinctIds[0];
}

function nameOf(properties: JsonObject): string | undefined {
  for (const key of namingProperties) {
    const value = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}
