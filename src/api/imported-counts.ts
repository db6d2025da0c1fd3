import { ApiError } from '../contract/errors.ts';
import {
  importedCountsQuerySchema,
  importedCountsSchema,
  importedEventsQuerySchema,
  importedEventsSchema,
} from '../contract/imported-events.ts';
import { isUuid } from '../eventstore/cursor.ts';
import type { EventStore } from '../eventstore/eventstore.ts';
import { importedDayCounts, importedEvents, type IdentityKey } from '../eventstore/import-reads.ts';
import { isoOfMicros, parseMicros } from '../eventstore/micros.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { fromStore } from './events.ts';

export interface ImportedEventsRouteDeps {
  readonly store: EventStore;
}

const base = '/api/projects/:project_id/events';
const common = { method: 'GET', scope: 'query:read', tag: 'events' } as const;
const pageEvents = 10_000;
const dayForm = /^\d{4}-\d\d-\d\d$/;

/** What another service that loads history into this one needs to see whether all of it arrived. */
export function importedEventsRoutes(deps: ImportedEventsRouteDeps): ApiRoute[] {
  return [countsRoute(deps), eventsRoute(deps)];
}

function countsRoute({ store }: ImportedEventsRouteDeps): ApiRoute {
  return apiRoute({
    ...common,
    path: `${base}/imported_counts`,
    summary: 'Count what an import run stored on one day, by name',
    description:
      'With a checksum over the events’ identities and times, so that two sides can compare without listing them.',
    query: importedCountsQuerySchema,
    responses: { 200: importedCountsSchema },
    handler: async ({ project, query }) => {
      const day = existingDay(query.day);
      const results = await fromStore(() => importedDayCounts(store, project().id, query.run, day));
      return { status: 200, body: { results } };
    },
  });
}

function eventsRoute({ store }: ImportedEventsRouteDeps): ApiRoute {
  return apiRoute({
    ...common,
    path: `${base}/imported_events`,
    summary: 'List the identities of the events of one name, on one day or on all',
    description: 'Whoever stored them, in no particular order. `next` is the `cursor` of the page after.',
    query: importedEventsQuerySchema,
    responses: { 200: importedEventsSchema },
    handler: async ({ project, query }) => {
      const day = query.day === undefined ? undefined : existingDay(query.day);
      const where = { day, event: query.event, after: readCursor(query.cursor) };
      const page = await fromStore(() => importedEvents(store, project().id, where, query.limit ?? pageEvents));
      const results = page.events.map(({ day: on, uuid, distinctId, timestampMicros, runId }) => ({
        day: on,
        uuid,
        distinct_id: distinctId,
        timestamp: isoOfMicros(timestampMicros),
        import_run_id: runId,
      }));
      return { status: 200, body: { next: page.next === undefined ? null : cursorOf(page.next), results } };
    },
  });
}

function existingDay(day: string): string {
  if (parseMicros(day) !== undefined) return day;
  throw new ApiError('invalid_input', `expected a day such as 2024-03-01, got: ${day}`, { attr: 'day' });
}

function cursorOf({ day, uuid, distinctId }: IdentityKey): string {
  return Buffer.from(JSON.stringify([day, uuid, distinctId])).toString('base64url');
}

function readCursor(text: string | undefined): IdentityKey | undefined {
  if (text === undefined) return undefined;
  const parts = jsonOf(Buffer.from(text, 'base64url').toString('utf8'));
  const [day, uuid, distinctId] = Array.isArray(parts) ? (parts as unknown[]) : [];
  const isDay = typeof day === 'string' && dayForm.test(day) && parseMicros(day) !== undefined;
  if (isDay && typeof uuid === 'string' && isUuid(uuid) && typeof distinctId === 'string') {
    return { day, uuid, distinctId };
  }
  throw new ApiError('invalid_input', 'Expected a cursor that `next` gave.', { attr: 'cursor' });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
