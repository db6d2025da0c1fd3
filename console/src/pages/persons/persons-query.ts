import type { PersonRecord } from '../../../../src/contract/persons.ts';
import type { Page } from '../../../../src/contract/pagination.ts';
import { apiPages, apiQuery, projectPath } from '../../api/queries.ts';

export type Person = PersonRecord;

export function personPages(projectId: number, search: string | undefined) {
  return apiPages<Person>(projectPath(projectId, 'persons'), { search });
}

/** At most one. */
export function personQuery(projectId: number, distinctId: string) {
  return apiQuery<Page<Person>>(projectPath(projectId, 'persons'), { distinct_id: distinctId });
}
