import { programVersion } from '../../base/program-version.ts';
import { apiErrors, type ApiErrorCode } from '../../wire/contract/errors.ts';
import { scopeObjects } from '../../wire/contract/scopes.ts';
import { ingestionWarnings } from '../../wire/contract/warnings.ts';
import { unknownFieldsHeader } from '../http/unknown-fields.ts';
import type { ApiRoute } from '../http/api-route.ts';
import { roleOf } from '../http/route-role.ts';
import { describedCapture } from './openapi-capture.ts';
import { exampleOf, plainSchema, type Described, type Json, type JsonSchema } from './openapi-schema.ts';

const description = `Capture and management API of Millrace. Paths work with and without a trailing slash; everything under
/api/projects/{project_id} answers under /api/environments/{project_id} too. Bodies may be JSON, form or multipart.
Every answer carries X-Request-Id; every error has the shape of the Error schema, but for those of the v1 endpoint of
capture.`;

/** GET /api/openapi.json: public description of these routes. */
export function openApiRoutes(routes: readonly ApiRoute[]): ApiRoute[] {
  let built: object | undefined;
  return [
    {
      method: 'GET',
      path: '/api/openapi.json',
      scope: 'public',
      tag: 'Meta',
      summary: 'This description',
      responses: { 200: { type: 'object' } },
      handler: async () => ({ status: 200, body: (built ??= buildOpenApi(routes, describedCapture)) }),
    },
  ];
}

const nothing: Described = { tags: [], paths: {}, securitySchemes: {}, schemas: {} };

/** Builds OpenAPI 3.1 from a route table. Pure: the same table gives the same document. */
export function buildOpenApi(routes: readonly ApiRoute[], beside: Described = nothing): object {
  const paths: Record<string, Record<string, Json>> = { ...beside.paths };
  const ids = new Set<string>();
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    const method = route.method.toLowerCase();
    if (paths[path]?.[method] !== undefined) throw new Error(`expected one ${operationIdOf(route)}, got: two`);
    const operation = operationOf(route, ids);
    ids.add(operation.operationId);
    paths[path] = { ...paths[path], [method]: operation };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Millrace', version: programVersion(), description },
    servers: [{ url: '/' }],
    tags: [...new Set([...beside.tags, ...routes.map((route) => route.tag)])].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        personalApiKey: {
          type: 'http',
          scheme: 'bearer',
          description: `A personal API key (phx_…). Scopes: ${Object.keys(scopeObjects)
            .map((object) => `${object}:read`)
            .join(', ')}; each also with :write, which implies :read; * includes all.`,
        },
        ...beside.securitySchemes,
      },
      schemas: { Error: errorSchema, ...beside.schemas },
      responses: errorResponses(),
    },
  };
}

interface Operation extends Json {
  readonly operationId: string;
}

function operationOf(route: ApiRoute, taken: ReadonlySet<string>): Operation {
  const { scope } = route;
  const needs = scope === 'public' ? [] : [{ personalApiKey: scope === 'any-key' ? [] : [scope] }];
  const body = route.body && plainSchema(route.body);
  return {
    operationId: freeId(operationIdOf(route), taken),
    tags: [route.tag],
    summary: route.summary,
    ...(route.description !== undefined && { description: route.description }),
    security: needs,
    ...(scope !== 'public' && { 'x-scope': scope, 'x-role': roleOf(route) }),
    parameters: parametersOf(route),
    ...(body !== undefined && { requestBody: requestBodyOf(body) }),
    ...(route.takesUpload === true && { requestBody: uploadBody }),
    responses: { ...successResponses(route), ...errorReferences(route) },
  };
}

const verbs = { POST: 'create', PUT: 'update', PATCH: 'partial_update', DELETE: 'destroy' } as const;

/** `GET /api/projects/:project_id/plugins/:id` → `projects_plugins_retrieve`. */
function operationIdOf(route: ApiRoute): string {
  const segments = route.path.split('/').slice(2);
  const names = segments.filter((segment) => !segment.startsWith(':')).map((name) => name.replaceAll(/\W/g, ''));
  return [...names, route.method === 'GET' ? readVerb(route) : verbs[route.method]].join('_');
}

/** Where an action exists for all records and for one (`…/replay` and `…/:id/replay`), the second id gets a number. */
function freeId(id: string, taken: ReadonlySet<string>): string {
  let free = id;
  for (let number = 2; taken.has(free); number += 1) free = `${id}_${number}`;
  return free;
}

function readVerb(route: ApiRoute): 'list' | 'retrieve' {
  const schema = route.responses[200] && plainSchema(route.responses[200]);
  return schema?.type === 'array' || schema?.properties?.['results'] !== undefined ? 'list' : 'retrieve';
}

function parametersOf(route: ApiRoute): Json[] {
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name = '']): Json => {
    const own = route.params && plainSchema(route.params).properties?.[name];
    // An empty value would be another path.
    const schema = own?.type === 'string' || own === undefined ? { minLength: 1, ...own, type: 'string' } : own;
    const text = name === 'project_id' ? 'Id of the project, or `@current`.' : own?.description;
    return { name, in: 'path', required: true, schema, description: text };
  });
  const query = route.query && plainSchema(route.query);
  const inQuery = Object.entries(query?.properties ?? {}).map(([name, schema]): Json => ({
    name,
    in: 'query',
    required: query?.required?.includes(name) ?? false,
    schema,
    description: schema.description,
  }));
  return [...inPath, ...inQuery];
}

const uploadBody = {
  required: true,
  content: {
    'application/octet-stream': { schema: { type: 'string', format: 'binary' } },
    'multipart/form-data': {
      schema: { type: 'object', required: ['file'], properties: { file: { type: 'string', format: 'binary' } } },
    },
  },
} as const;

function requestBodyOf(schema: JsonSchema): Json {
  const content = { schema, example: exampleOf(schema) };
  return {
    required: (schema.required ?? []).length > 0,
    content: { 'application/json': content, 'application/x-www-form-urlencoded': { schema } },
  };
}

function successResponses(route: ApiRoute): Json {
  const headersOf = { ...(route.namesUnknownFields && unknownFieldsHeader), ...route.responseHeaders };
  const described = Object.entries(headersOf).map(
    ([name, text]) => [name, { description: text, schema: { type: 'string' } }] as const,
  );
  const headers = described.length === 0 ? {} : { headers: Object.fromEntries(described) };
  const entries = Object.entries(route.responses).map(([status, schema]): readonly [string, Json] => {
    const text = status === '201' ? 'Created.' : status === '204' ? 'No content.' : 'Success.';
    if (schema === null) return [status, { description: text, ...headers }];
    const plain = plainSchema(schema);
    const media = { schema: plain, example: exampleOf(plain) };
    const types = status === '200' ? (route.mediaTypes ?? ['application/json']) : ['application/json'];
    const content = Object.fromEntries(
      types.map((type) => [type, type === 'application/json' ? media : { schema: { type: 'string' } }]),
    );
    return [status, { description: text, ...headers, content }];
  });
  return Object.fromEntries(entries);
}

/** Lists the errors of an operation by the same rules for all. */
function errorReferences({ method, path, scope }: ApiRoute): Json {
  const takesBody = method !== 'GET';
  const statuses = [
    400,
    ...(scope === 'public' ? [] : [401, 403]),
    ...(path.includes(':') ? [404] : []),
    408,
    ...(takesBody ? [409] : []),
    // Changes of configs and of tracking plans honour If-Match.
    ...(takesBody && (path.includes('_configs/:id') || path.endsWith('/tracking_plan')) ? [412] : []),
    413,
    ...(takesBody ? [415] : []),
    421,
    ...(scope === 'public' ? [] : [429]),
    500,
    503,
  ];
  return Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Error${status}` }]));
}

const fieldErrorProperties = {
  code: { type: 'string', enum: Object.keys(apiErrors), description: 'Stable; match on this.' },
  detail: { type: 'string', description: 'One sentence for users.' },
  attr: { type: ['string', 'null'], description: 'The invalid field, nested names joined by __.' },
} as const;

const errorSchema = {
  type: 'object',
  required: ['type', 'code', 'detail', 'attr'],
  properties: {
    type: { type: 'string', enum: [...new Set(Object.values(apiErrors).map((error) => error.type))] },
    ...fieldErrorProperties,
    errors: {
      type: 'array',
      description: 'All field errors if there are several, or the events rejected by capture, by `index`.',
      items: {
        type: 'object',
        required: ['code', 'detail', 'attr'],
        properties: {
          index: { type: 'integer', minimum: 0, description: 'Position of the event in the batch (capture only).' },
          ...fieldErrorProperties,
          code: { type: 'string', enum: [...Object.keys(apiErrors), ...Object.keys(ingestionWarnings)] },
        },
      },
    },
  },
} as const;

/** Returns one response per status, with an example of each of its codes. */
function errorResponses(): Json {
  const codesByStatus = Object.groupBy(Object.keys(apiErrors) as ApiErrorCode[], (code) =>
    String(apiErrors[code].status),
  );
  const entries = Object.entries(codesByStatus).map(([status, codes = []]) => {
    const examples = codes.map((code) => {
      const { type, meaning } = apiErrors[code];
      return [code, { summary: meaning, value: { type, code, detail: meaning, attr: null } }] as const;
    });
    const schema = { $ref: '#/components/schemas/Error' };
    const content = { 'application/json': { schema, examples: Object.fromEntries(examples) } };
    return [
      `Error${status}`,
      { description: codes.map((code) => apiErrors[code].meaning).join(' '), content },
    ] as const;
  });
  return Object.fromEntries(entries);
}
