import type { EventNamesRecord } from '../../../src/wire/contract/names.ts';
import { apiQuery, projectPath } from './queries.ts';

/** Names of stored events, to choose from. */
export function eventNamesQuery(projectId: number) {
  return apiQuery<EventNamesRecord>(projectPath(projectId, 'event_names'), { limit: 500 });
}
