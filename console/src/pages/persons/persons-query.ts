import type { PersonRecord } from '../../../../src/wire/contract/persons.ts';
import type { Page } from '../../../../src/wire/contract/pagination.ts';
import type { QueryClient } from '@tanstack/react-query';
import { apiPages, apiQuery, prefetchPages, projectPath } from '../../api/queries.ts';
import { eventPages, personPageSize } from '../../api/stored-events.ts';

export type Person = PersonRecord;

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Returns the display name of a person. Another id is better than the UUID of a device. */
export function displayName({ name, distinct_ids: ids }: Pick<Person, 'name' | 'distinct_ids'>): string {
  return uuid.test(name) ? (ids.find((id) => !uuid.test(id)) ?? name) : name;
}

interface PersonsFilter {
  readonly q?: string | undefined;
  readonly identified?: boolean | undefined;
  readonly order?: 'oldest' | undefined;
}

export function personPages(projectId: number, { q, identified, order }: PersonsFilter) {
  return apiPages<Person>(projectPath(projectId, 'persons'), {
    search: q,
    is_identified: identified,
    order: order === 'oldest' ? 'created_at' : undefined,
  });
}

const columnsAtFirst = 3;
/** The name column shows the first of these. */
const naming = new Set(['email', 'name', 'username']);

/** Returns the properties of some persons, the most frequent first. */
export function propertiesOf(persons: readonly Pick<Person, 'properties'>[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { properties } of persons)
    for (const name of Object.keys(properties)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].toSorted((one, two) => two[1] - one[1] || one[0].localeCompare(two[0])).map(([name]) => name);
}

/** Returns the properties to show if none are chosen. */
export function firstColumns(names: readonly string[]): readonly string[] {
  return names.filter((name) => !naming.has(name)).slice(0, columnsAtFirst);
}

/** Finds the person with a distinct id; at most one. */
export function personQuery(projectId: number, distinctId: string) {
  return apiQuery<Page<Person>>(projectPath(projectId, 'persons'), { distinct_id: distinctId });
}

/** Prefetches the person with a distinct id and their events. Without a person, prefetches the events of the id. */
export async function prefetchPerson(client: QueryClient, projectId: number, distinctId: string): Promise<void> {
  const query = personQuery(projectId, distinctId);
  await client.prefetchQuery(query);
  const found = client.getQueryData(query.queryKey);
  if (found !== undefined) prefetchPages(client, personEvents(projectId, distinctId, found.results[0]));
}

/** Lists the events of all distinct ids of a person: stored events keep the id they were sent with. */
export function personEvents(projectId: number, distinctId: string, person: Person | undefined) {
  return eventPages(projectId, eventsFilter(distinctId, person), personPageSize);
}

export function eventsFilter(distinctId: string, person: Person | undefined) {
  return person === undefined ? { distinct_id: distinctId } : { person_id: person.uuid };
}
