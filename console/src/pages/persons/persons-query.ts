import type { PersonRecord } from '../../../../src/wire/contract/persons.ts';
import type { Page } from '../../../../src/wire/contract/pagination.ts';
import type { QueryClient } from '@tanstack/react-query';
import { apiPages, apiQuery, loadAhead, projectPath } from '../../api/queries.ts';
import { eventPages, personPageSize } from '../../api/stored-events.ts';

export type Person = PersonRecord;

export function personPages(projectId: number, search: string | undefined) {
  return apiPages<Person>(projectPath(projectId, 'persons'), { search });
}

/** At most one. */
export function personQuery(projectId: number, distinctId: string) {
  return apiQuery<Page<Person>>(projectPath(projectId, 'persons'), { distinct_id: distinctId });
}

/** Who a distinct id belongs to and what that person did; of an id that nobody is known by, what it did. */
export async function loadPersonAhead(client: QueryClient, projectId: number, distinctId: string): Promise<void> {
  const query = personQuery(projectId, distinctId);
  await client.prefetchQuery(query);
  const found = client.getQueryData(query.queryKey);
  if (found !== undefined) loadAhead(client, personEvents(projectId, distinctId, found.results[0]));
}

/** Of all ids that the person goes by: events keep the one they were sent with. */
export function personEvents(projectId: number, distinctId: string, person: Person | undefined) {
  return eventPages(projectId, eventsFilter(distinctId, person), personPageSize);
}

export function eventsFilter(distinctId: string, person: Person | undefined) {
  return person === undefined ? { distinct_id: distinctId } : { person_id: person.uuid };
}
