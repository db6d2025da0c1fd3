import { Type } from 'typebox';
import { knownZone } from '../../base/local-time.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import {
  eventCountsQuerySchema,
  eventCountsSchema,
  eventLimitDefault,
  eventListQuerySchema,
  eventPageSchema,
  eventSchema,
  type EventCountsQuery,
  type EventListQuery,
} from '../../wire/contract/events.ts';
import type { PersonRecord } from '../../wire/contract/persons.ts';
import { canonicalUuid } from '../../base/uuids.ts';
import { countEvents, TooManyCountsError } from '../../stores/events/counts.ts';
import { decodeCursor, encodeCursor } from '../../stores/events/cursor.ts';
import { StoreUnavailableError, type EventStore } from '../../stores/events/eventstore.ts';
import type { EventFilter, PropertyFilter } from '../../stores/events/filters.ts';
import { isoOfMicros, parseMicros } from '../../stores/events/micros.ts';
import { KeptCounts } from '../../stores/events/kept-counts.ts';
import { parsePropertyFilters } from '../../stores/events/property-filters.ts';
import { listOldestFirst } from '../../stores/events/list-oldest-first.ts';
import { RecentReach } from '../../stores/events/recent-reach.ts';
import { getEvent, listEvents, type EventKey, type StoredEvent } from '../../stores/events/reads.ts';
import { idsPerEventMax, limitIds } from './limit-ids.ts';
import { nextUrl } from './next-url.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import type { JsonObject } from '../../base/json.ts';
import { parseExact } from '../../base/exact-json.ts';

export type EventPerson = Omit<PersonRecord, 'uuid' | 'name'>;

export interface EventRouteDeps {
  readonly store: EventStore;
  readonly persons: {
    byDistinctIds(projectId: number, distinctIds: readonly string[]): Promise<ReadonlyMap<string, EventPerson>>;
    byUuid(projectId: number, uuid: string): Promise<Pick<EventPerson, 'distinct_ids'> | undefined>;
  };
  readonly clock?: Clock;
}

const base = '/api/projects/:project_id/events';
const common = { method: 'GET', scope: 'query:read', tag: 'Events' } as const;

/** Routes that read stored events: list, retrieve, counts. */
export function eventRoutes(deps: EventRouteDeps): ApiRoute[] {
  return [listRoute(deps), countsRoute(deps), retrieveRoute(deps)];
}

function listRoute({ store, persons, clock = systemClock }: EventRouteDeps): ApiRoute {
  const reach = new RecentReach();
  return apiRoute({
    ...common,
    path: base,
    summary: 'List events',
    description:
      'Returns the newest events first by default. Every event appears once, however often it was sent. Follow `next` for more.',
    query: eventListQuerySchema,
    responses: { 200: eventPageSchema },
    handler: async (request) => {
      const project = request.project().id;
      const { limit = eventLimitDefault, cursor } = request.query;
      const filter = await listFilter(request.query, project, persons);
      const key = cursor === undefined ? {} : { cursor: readCursor(cursor) };
      const nowMicros = BigInt(clock.now()) * 1000n;
      const isForwards = request.query.order === 'oldest_first';
      const page = await fromStore(() =>
        isForwards
          ? listOldestFirst(store, project, filter, { limit, ...key })
          : listEvents(store, project, filter, { limit, ...key, nowMicros, reach }),
      );
      const results = await shownEvents(page.events, project, persons);
      const next = page.next && nextUrl(request, encodeCursor(page.next));
      return { status: 200, body: { next, previous: null, results } };
    },
  });
}

function retrieveRoute({ store, persons }: EventRouteDeps): ApiRoute {
  return apiRoute({
    ...common,
    path: `${base}/:uuid`,
    summary: 'Retrieve one event',
    params: Type.Object({ uuid: Type.String({ description: 'The uuid of the event.' }) }),
    responses: { 200: eventSchema },
    handler: async (request) => {
      const project = request.project().id;
      const uuid = canonicalUuid(request.params.uuid);
      const event = uuid ? await fromStore(() => getEvent(store, project, uuid)) : undefined;
      if (!event) throw new ApiError('not_found', 'Event not found.');
      const [body] = await shownEvents([event], project, persons);
      return { status: 200, body };
    },
  });
}

function countsRoute({ store, persons }: EventRouteDeps): ApiRoute {
  const kept = new KeptCounts(store);
  return apiRoute({
    ...common,
    path: `${base}/counts`,
    summary: 'Count events per interval, name and kind',
    description: 'Counts each event once, at its timestamp. Intervals without events are omitted.',
    query: eventCountsQuerySchema,
    responses: { 200: eventCountsSchema },
    handler: async (request) => {
      const { interval = 'day', top, timezone } = request.query;
      const options = { top, kept, timeZone: timezone === undefined ? undefined : readZone(timezone) };
      const project = request.project().id;
      const filter = await listFilter(request.query, project, persons);
      const counts = await fromStore(() => countEvents(store, project, interval, filter, options));
      const total = { standard: 0, historical: 0 };
      for (const { historical, count } of counts) total[historical ? 'historical' : 'standard'] += count;
      const results = counts.map((row) => ({
        time: isoOfMicros(row.startMicros),
        event: row.event,
        historical_migration: row.historical,
        count: row.count,
      }));
      return { status: 200, body: { results, total } };
    },
  });
}

async function listFilter(
  query: EventListQuery | EventCountsQuery,
  projectId: number,
  persons: EventRouteDeps['persons'],
): Promise<EventFilter> {
  const { event, distinct_id: distinctId, historical_migration: historical, import_run: run, after, before } = query;
  const properties = readProperties(query.properties);
  const range = timeRange(after, before);
  const distinctIds = await idsOfPerson(query.person_id, projectId, persons);
  return { event, distinctId, distinctIds, historical, run, properties, ...range };
}

/** Events keep the id they were sent with; which ids belong together may change with every merge. */
async function idsOfPerson(
  uuid: string | undefined,
  projectId: number,
  persons: EventRouteDeps['persons'],
): Promise<readonly string[] | undefined> {
  if (uuid === undefined) return undefined;
  const known = canonicalUuid(uuid);
  const person = known ? await persons.byUuid(projectId, known) : undefined;
  return person?.distinct_ids ?? [];
}

function readZone(text: string): string {
  const zone = knownZone(text);
  if (zone !== undefined) return zone;
  const detail = 'Expected an IANA time zone such as "Europe/Paris" or "UTC".';
  throw new ApiError('invalid_input', detail, { attr: 'timezone' });
}

function readProperties(text: string | undefined): PropertyFilter[] {
  if (text === undefined) return [];
  const filters = parsePropertyFilters(text);
  if (typeof filters === 'string') throw new ApiError('invalid_input', filters, { attr: 'properties' });
  return filters;
}

function readCursor(text: string): EventKey {
  const key = decodeCursor(text);
  if (!key) throw new ApiError('invalid_input', 'Expected a cursor from a `next` link.', { attr: 'cursor' });
  return key;
}

function timeRange(after: string | undefined, before: string | undefined): Pick<EventFilter, 'after' | 'before'> {
  return { after: readTime(after, 'after'), before: readTime(before, 'before') };
}

function readTime(text: string | undefined, attr: string): bigint | undefined {
  if (text === undefined) return undefined;
  const micros = parseMicros(text);
  if (micros !== undefined) return micros;
  const detail = 'Expected an ISO 8601 date or time, such as 2026-11-20 or 2026-11-20T10:00:00Z.';
  throw new ApiError('invalid_input', detail, { attr });
}

async function shownEvents(
  events: readonly StoredEvent[],
  projectId: number,
  persons: EventRouteDeps['persons'],
): Promise<object[]> {
  if (events.length === 0) return [];
  const ids = [...new Set(events.map((event) => event.distinctId))];
  const found = await persons.byDistinctIds(projectId, ids);
  return events.map((event) => ({
    id: event.uuid,
    event: event.event,
    distinct_id: event.distinctId,
    timestamp: isoOfMicros(event.timestampMicros),
    // Stored by the pipeline: JSON text of an object.
    properties: parseExact(event.properties) as JsonObject,
    person: shownPerson(found.get(event.distinctId)),
    historical_migration: event.historical,
  }));
}

function shownPerson(person: EventPerson | undefined): object | null {
  if (!person) return null;
  const { id, distinct_ids, properties, created_at, is_identified } = person;
  return limitIds({ id, distinct_ids, properties, created_at, is_identified }, idsPerEventMax);
}

/** Converts errors of the store to API errors. */
export async function fromStore<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (cause instanceof TooManyCountsError) {
      throw new ApiError('invalid_input', cause.message, { attr: 'interval', cause });
    }
    if (!(cause instanceof StoreUnavailableError)) throw cause;
    const detail = 'The event store is busy or not reachable. Retry later, or request less data.';
    throw new ApiError('unavailable', detail, { headers: { 'Retry-After': '5' }, cause });
  }
}
