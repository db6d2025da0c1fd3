import type { Static } from 'typebox';
import type { eventSchema } from '../../../src/wire/contract/events.ts';
import type { EventNamesRecord } from '../../../src/wire/contract/names.ts';
import { apiPages, apiQuery, projectPath } from './queries.ts';
import type { Query } from './request.ts';

export type StoredEvent = Static<typeof eventSchema>;

const pageSize = 100;
/** More than a screen shows. One person's events lie far apart, so that the store reads much for each of them. */
export const personPageSize = 30;

/** Newest first. `filter`: as the API takes it. */
export function eventPages(projectId: number, filter: Query, limit = pageSize) {
  return apiPages<StoredEvent>(projectPath(projectId, 'events'), { ...filter, limit });
}

export function eventQuery(projectId: number, uuid: string) {
  return apiQuery<StoredEvent>(projectPath(projectId, `events/${encodeURIComponent(uuid)}`));
}

/** Names of stored events, to choose from. */
export function eventNamesQuery(projectId: number) {
  return apiQuery<EventNamesRecord>(projectPath(projectId, 'event_names'), { limit: 500 });
}
