import type { Static } from 'typebox';
import type { eventSchema } from '../../../src/wire/contract/events.ts';
import type { EventNamesRecord } from '../../../src/wire/contract/names.ts';
import { apiPages, apiQuery, projectPath } from './queries.ts';
import type { Query } from './request.ts';

export type StoredEvent = Static<typeof eventSchema>;

const pageSize = 100;
/** More than a screen shows. One person's events are scattered over the table, so each of them is expensive to read. */
export const personPageSize = 30;

/** Lists events, newest first. `filter` contains query parameters of the API. */
export function eventPages(projectId: number, filter: Query, limit = pageSize) {
  return apiPages<StoredEvent>(projectPath(projectId, 'events'), { ...filter, limit });
}

export function eventQuery(projectId: number, uuid: string) {
  return apiQuery<StoredEvent>(projectPath(projectId, `events/${encodeURIComponent(uuid)}`));
}

/** Lists the names of stored events. */
export function eventNamesQuery(projectId: number) {
  return apiQuery<EventNamesRecord>(projectPath(projectId, 'event_names'), { limit: 500 });
}
