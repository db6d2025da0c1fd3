import { LRUCache } from 'lru-cache';
import { isoMicros, type Clock } from '../../base/clock.ts';
import { minuteMs } from '../../base/time.ts';
import {
  eventNamesQuerySchema,
  eventNamesSchema,
  propertyNamesQuerySchema,
  propertyNamesSchema,
  type EventNamesRecord,
  type PropertyNamesRecord,
} from '../../wire/contract/names.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
import { isoOfMicros } from '../../stores/events/micros.ts';
import {
  eventNames,
  propertyNames,
  type EventName,
  type PropertyName,
  type PropertySample,
} from '../../stores/events/names.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { fromStore } from './events.ts';

export interface KnownNames {
  events(projectId: number): Promise<{ readonly asOf: string; readonly names: readonly EventName[] }>;
  properties(projectId: number, event?: string): Promise<PropertySample & { readonly asOf: string }>;
}

const listsMax = 200;
const limitDefault = 100;
const common = { method: 'GET', scope: 'query:read', tag: 'Events' } as const;

/** Names of events and properties, queried at most once a minute regardless of requests. */
export function rememberNames({ store, clock }: { readonly store: EventStore; readonly clock: Clock }): KnownNames {
  return {
    events: createRemembered(async (projectId) => ({
      asOf: isoMicros(clock.now()),
      names: await fromStore(() => eventNames(store, projectId)),
    })),
    properties: createRemembered(async (projectId, event) => ({
      asOf: isoMicros(clock.now()),
      ...(await fromStore(() => propertyNames(store, projectId, event))),
    })),
  };
}

/** Routes of names for pickers. */
export function nameRoutes({ events, properties }: KnownNames): ApiRoute[] {
  return [
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/event_names',
      summary: 'List event names',
      query: eventNamesQuerySchema,
      responses: { 200: eventNamesSchema },
      handler: async (request) => {
        const { asOf, names } = await events(request.project().id);
        const { count, found } = search(names, request.query);
        const results = found.map(shown);
        return { status: 200, body: { as_of: asOf, count, results } satisfies EventNamesRecord };
      },
    }),
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/property_names',
      summary: 'List property names',
      description: 'Returns names in a sample of the newest events, with the types of their values.',
      query: propertyNamesQuerySchema,
      responses: { 200: propertyNamesSchema },
      handler: async (request) => {
        const sample = await properties(request.project().id, request.query.event);
        const { count, found } = search(sample.properties, request.query);
        const results = found.map((each) => Object.assign(shown(each), { types: typesOf(each) }));
        const body: PropertyNamesRecord = {
          as_of: sample.asOf,
          count,
          sampled_events: sample.sampledEvents,
          results,
        };
        return { status: 200, body };
      },
    }),
  ];
}

/** After a minute, returns the cached value once more while it is refreshed; concurrent callers share one query. */
function createRemembered<V extends object>(
  look: (projectId: number, event: string | undefined) => Promise<V>,
): (projectId: number, event?: string) => Promise<V> {
  const lists = new LRUCache<string, V>({
    max: listsMax,
    ttl: minuteMs,
    allowStale: true,
    allowStaleOnFetchRejection: true,
    noDeleteOnFetchRejection: true,
    fetchMethod: (key) => {
      const [projectId, event] = JSON.parse(key) as [number, string | null];
      return look(projectId, event ?? undefined);
    },
  });
  return (projectId, event) => lists.forceFetch(JSON.stringify([projectId, event ?? null]));
}

function search<N extends EventName>(
  names: readonly N[],
  { search: text, limit = limitDefault }: { readonly search?: string; readonly limit?: number },
): { readonly count: number; readonly found: readonly N[] } {
  const fitting = namesWith(names, text);
  return { count: fitting.length, found: fitting.slice(0, limit) };
}

/** Names that contain the text, ignoring case. */
export function namesWith<N extends EventName>(names: readonly N[], text = ''): readonly N[] {
  const wanted = text.toLowerCase();
  return wanted === '' ? names : names.filter(({ name }) => name.toLowerCase().includes(wanted));
}

function shown({ name, count, lastMicros }: EventName) {
  return { name, count, last_seen: isoOfMicros(lastMicros) };
}

function typesOf({ types }: PropertyName): PropertyNamesRecord['results'][number]['types'] {
  // The query returns no others.
  return [...types] as PropertyNamesRecord['results'][number]['types'];
}
