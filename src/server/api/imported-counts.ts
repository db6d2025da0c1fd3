import { ApiError } from '../../wire/contract/errors.ts';
import {
  importedCountsQuerySchema,
  importedCountsSchema,
  importedEventsQuerySchema,
  importedEventsSchema,
  importedPropertiesQuerySchema,
  importedPropertiesSchema,
} from '../../wire/contract/imported-events.ts';
import { isUuid } from '../../stores/events/cursor.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
import {
  importedCounts,
  importedEvents,
  importedEventsNamed,
  importedProperties,
  type IdentityPage,
  type IdentityPageOf,
  type NamedIdentityKey,
} from '../../stores/events/import-reads.ts';
import { isoOfMicros, parseMicros } from '../../stores/events/micros.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { fromStore } from './events.ts';

export interface ImportedEventsRouteDeps {
  readonly store: EventStore;
  /** Returns the number of active transformations of a project. */
  readonly activeTransformations: (projectId: number) => Promise<number>;
}

const base = '/api/projects/:project_id/events';
const common = { method: 'GET', scope: 'query:read', tag: 'Events' } as const;
const pageEvents = 10_000;
const contentsDefault = 'md5';
const dayForm = /^\d{4}-\d\d-\d\d$/;

/** Routes for another service that imports into this one and verifies the result. */
export function importedEventsRoutes(deps: ImportedEventsRouteDeps): ApiRoute[] {
  return [countsRoute(deps), eventsRoute(deps), propertiesRoute(deps)];
}

function countsRoute({ store, activeTransformations }: ImportedEventsRouteDeps): ApiRoute {
  return apiRoute({
    ...common,
    path: `${base}/imported_counts`,
    summary: 'Count stored events of an import run on a day, by name',
    description:
      'Returns counts with checksums over identities, times and content, so that two sides can compare without ' +
      'listing them.',
    query: importedCountsQuerySchema,
    responses: { 200: importedCountsSchema },
    handler: async ({ project, query }) => {
      const day = existingDay(query.day);
      const contents = query.contents ?? contentsDefault;
      const of = { run: query.run, from: day, to: day };
      const counts = await fromStore(() => importedCounts(store, project().id, of, contents));
      const results = counts.map(({ event, count, checksum, content }) => {
        return { event, count, checksum, content_checksum: content };
      });
      const active = await activeTransformations(project().id);
      return { status: 200, body: { active_transformations: active, contents, results } };
    },
  });
}

function eventsRoute({ store }: ImportedEventsRouteDeps): ApiRoute {
  return apiRoute({
    ...common,
    path: `${base}/imported_events`,
    summary: 'List the identities of events with a name, on one or all days, or with several names on a day',
    description: 'Returns events of any origin in no particular order. `next` is the `cursor` of the next page.',
    query: importedEventsQuerySchema,
    responses: { 200: importedEventsSchema },
    handler: async ({ project, query }) => {
      const day = query.day === undefined ? undefined : existingDay(query.day);
      const after = readCursor(query.cursor);
      const { limit = pageEvents, contents = contentsDefault } = query;
      const read = readerOf(query, day, after);
      const page = await fromStore(() => read(store, project().id, { limit, contents }));
      const results = page.events.map(({ day: on, event, uuid, distinctId, timestampMicros, runId, content }) => ({
        day: on,
        event,
        uuid,
        distinct_id: distinctId,
        timestamp: isoOfMicros(timestampMicros),
        import_run_id: runId,
        content_checksum: content,
      }));
      return { status: 200, body: { next: page.next === undefined ? null : cursorOf(page.next), contents, results } };
    },
  });
}

type PageReader = (store: EventStore, projectId: number, page: IdentityPageOf) => Promise<IdentityPage>;

function readerOf(
  { event, events }: { readonly event?: string | undefined; readonly events?: string | undefined },
  day: string | undefined,
  after: NamedIdentityKey | undefined,
): PageReader {
  if (events === undefined) {
    if (event === undefined) throw new ApiError('invalid_input', 'expected the name of an event', { attr: 'event' });
    return (store, project, page) => importedEvents(store, project, { day, event, after }, page);
  }
  if (day === undefined) throw new ApiError('invalid_input', 'expected a day with `events`', { attr: 'day' });
  const names = jsonOf(events);
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string')) {
    throw new ApiError('invalid_input', 'expected a JSON array of names', { attr: 'events' });
  }
  return (store, project, page) => importedEventsNamed(store, project, { day, events: names, after }, page);
}

function propertiesRoute({ store }: ImportedEventsRouteDeps): ApiRoute {
  return apiRoute({
    ...common,
    path: `${base}/imported_properties`,
    summary: 'Retrieve the properties of events of a name and day',
    description: 'Returns properties as text, so that no digit of a number is lost. For events whose checksums differ.',
    query: importedPropertiesQuerySchema,
    responses: { 200: importedPropertiesSchema },
    handler: async ({ project, query }) => {
      const where = { day: existingDay(query.day), event: query.event, uuids: query.uuids.split(',') };
      const rows = await fromStore(() => importedProperties(store, project().id, where));
      const results = rows.map(({ uuid, distinctId, properties }) => ({ uuid, distinct_id: distinctId, properties }));
      return { status: 200, body: { results } };
    },
  });
}

function existingDay(day: string): string {
  if (parseMicros(day) !== undefined) return day;
  throw new ApiError('invalid_input', `expected a day such as 2024-03-01, got: ${day}`, { attr: 'day' });
}

function cursorOf({ day, uuid, distinctId, event }: NamedIdentityKey): string {
  return Buffer.from(JSON.stringify([day, uuid, distinctId, event])).toString('base64url');
}

function readCursor(text: string | undefined): NamedIdentityKey | undefined {
  if (text === undefined) return undefined;
  const parts = jsonOf(Buffer.from(text, 'base64url').toString('utf8'));
  // Cursors of earlier versions lack the name, which only several names require.
  const [day, uuid, distinctId, event = ''] = Array.isArray(parts) ? (parts as unknown[]) : [];
  const isDay = typeof day === 'string' && dayForm.test(day) && parseMicros(day) !== undefined;
  const areTexts = typeof distinctId === 'string' && typeof event === 'string';
  if (isDay && typeof uuid === 'string' && isUuid(uuid) && areTexts) {
    return { day, uuid, distinctId, event };
  }
  throw new ApiError('invalid_input', 'Expected a cursor from `next`.', { attr: 'cursor' });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
