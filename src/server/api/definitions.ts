import { derivedId } from '../../base/ids.ts';
import {
  eventDefinitionSchema,
  eventDefinitionsQuerySchema,
  propertyDefinitionSchema,
  propertyDefinitionsQuerySchema,
  type EventDefinitionRecord,
  type PropertyDefinitionRecord,
} from '../../wire/contract/definitions.ts';
import { pageOf, pageSchema, toPage, type Page, type PageQuery } from '../../wire/contract/pagination.ts';
import { isoOfMicros } from '../../stores/events/micros.ts';
import type { EventName, PropertyName } from '../../stores/events/names.ts';
import { apiRoute, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import { namesWith, type KnownNames } from './names.ts';

const common = { method: 'GET', scope: 'query:read', tag: 'Events' } as const;
const noNotes = { description: null, updated_at: null, updated_by: null, verified: false, hidden: false } as const;

/** Routes of event and property names in the form of PostHog's API, for existing scripts. */
export function definitionRoutes({ events, properties }: KnownNames): ApiRoute[] {
  return [
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/event_definitions',
      summary: 'List event definitions',
      description: "Returns event names in the form of PostHog's API. `event_names` has counts and suits pickers.",
      query: eventDefinitionsQuerySchema,
      responses: { 200: pageSchema(eventDefinitionSchema) },
      handler: async (request) => {
        const project = request.project().id;
        const { names } = await events(project);
        const found = namesWith(names, request.query.search);
        return { status: 200, body: pageWith(request, found, (name) => eventDefinition(project, name)) };
      },
    }),
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/property_definitions',
      summary: 'List property definitions',
      description:
        "Returns property names of a sample of the newest events in the form of PostHog's API. `property_names` suits pickers.",
      query: propertyDefinitionsQuerySchema,
      responses: { 200: pageSchema(propertyDefinitionSchema) },
      handler: async (request) => {
        const project = request.project().id;
        const sample = await properties(project);
        const asked = request.query.properties?.split(',');
        const found = namesWith(sample.properties, request.query.search).filter(
          ({ name }) => asked === undefined || asked.includes(name),
        );
        return { status: 200, body: pageWith(request, found, (name) => propertyDefinition(project, name)) };
      },
    }),
  ];
}

function pageWith<N, R>(
  { query, url, rawQuery }: Pick<ApiRequest<unknown, PageQuery>, 'query' | 'url' | 'rawQuery'>,
  names: readonly N[],
  shown: (name: N) => R,
): Page<R> {
  const window = pageOf(query);
  const { limit, offset } = window;
  return toPage(url, rawQuery, window, names.length, names.slice(offset, offset + limit).map(shown));
}

function eventDefinition(projectId: number, { name, lastMicros }: EventName): EventDefinitionRecord {
  return {
    id: derivedId('event definition', String(projectId), name),
    name,
    ...noNotes,
    tags: [],
    owner: null,
    created_at: null,
    last_seen_at: isoOfMicros(lastMicros),
    is_action: false,
  };
}

const propertyTypes = { string: 'String', number: 'Numeric', boolean: 'Boolean' } as const;

function propertyDefinition(projectId: number, { name, types }: PropertyName): PropertyDefinitionRecord {
  const [type, ...others] = types.filter((each) => each !== 'null');
  const isPlain = others.length === 0 && (type === 'string' || type === 'number' || type === 'boolean');
  const propertyType = isPlain ? propertyTypes[type] : null;
  return {
    id: derivedId('property definition', String(projectId), name),
    name,
    ...noNotes,
    tags: [],
    property_type: propertyType,
    is_numerical: propertyType === 'Numeric',
    is_seen_on_filtered_events: null,
  };
}
