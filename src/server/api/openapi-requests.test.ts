import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApp } from '../../../test/support/app.ts';
import { testPlugins } from '../../../test/support/plugin-rows.ts';
import { syncPlugins } from '../../plugins/built-in/sync-plugins.ts';
import { createRegistry } from '../../plugins/plugin-registry.ts';
import { buildOpenApi } from './openapi.ts';
import type { JsonSchema } from './openapi-schema.ts';
import { startWholeApi } from './whole-api.fixture.ts';

/** What the document says is what the service does: requests are made from the document alone, and none is refused. */

interface Operation {
  readonly method: 'get' | 'post' | 'patch' | 'put' | 'delete';
  readonly path: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: Schema;
  }[];
  readonly body: Schema | undefined;
  readonly statuses: readonly number[];
}

interface Schema extends JsonSchema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
}

let app: TestApp;
let operations: readonly Operation[];
let authorization: string;
beforeAll(async () => {
  const api = await startWholeApi(createRegistry(testPlugins));
  app = api.app;
  await syncPlugins(app.db, testPlugins, app.clock.now());
  authorization = `Bearer ${await app.key()}`;
  // As a client reads it.
  operations = operationsOf(JSON.parse(JSON.stringify(buildOpenApi(api.routes))));
});
afterAll(() => app[Symbol.asyncDispose]());

/** Refusals that depend on what there is, not on how the request is made. */
const ofTheState = new Set(['does_not_exist', 'unique']);
/** Operations that ask for more than a schema can say: one of several sources, an event, a plugin that is not built in. */
const askMore = new Set([
  'post /api/projects/{project_id}/plugins',
  'patch /api/projects/{project_id}/plugins/{id}',
  'delete /api/projects/{project_id}/plugins/{id}',
  'post /api/projects/{project_id}/pipeline_transformation_configs/test',
  'post /api/projects/{project_id}/sample_events',
  'patch /api/projects/{project_id}/sample_events/{id}',
  // Schemas of properties, which are JSON Schema themselves.
  'put /api/projects/{project_id}/tracking_plan',
  'post /api/projects/{project_id}/tracking_plan/test',
  // Each kind of destination has different fields.
  'post /api/projects/{project_id}/notice_destinations',
  'post /api/notice_destinations',
  // So has each kind of place for an export; conditions on properties have different values.
  'post /api/projects/{project_id}/exports',
  'post /api/projects/{project_id}/exports/estimate',
  // A name, or a day with names as JSON.
  'get /api/projects/{project_id}/events/imported_events',
  // A config whose plugin receives events.
  'post /api/projects/{project_id}/event_replays',
  // Ids of persons, or a selection, and not both.
  'post /api/projects/{project_id}/erasures',
  'post /api/projects/{project_id}/erasures/dry_run',
  // Of two times the one before the other.
  'post /api/projects/{project_id}/tracking_plan/learn',
  'get /api/projects/{project_id}/pipeline_transformation_configs/metrics',
  'get /api/projects/{project_id}/pipeline_import_apps_configs/metrics',
]);

describe('requests made from the document', () => {
  it('get no status that it does not name, and none is refused as invalid', async () => {
    expect(operations.length).toBeGreaterThan(50);
    const findings = new Map<string, string>();
    for (const operation of operations.filter((each) => !deletesTheProject(each))) {
      for (const request of fc.sample(requestOf(operation), { numRuns: 12, seed: 7 })) {
        // A stream has no end to wait for.
        const method = operation.path.endsWith('/live_events') ? 'HEAD' : operation.method;
        const answer = await app.inject({ method, headers: { authorization }, ...request });
        await forget(operation);
        const error = answer.statusCode >= 400 ? (answer.json() as { code: string; detail: string }) : undefined;
        const isDocumented = operation.statuses.includes(answer.statusCode);
        const isFine = answer.statusCode !== 400 || ofTheState.has(error?.code ?? '') || askMore.has(nameOf(operation));
        if (isDocumented && isFine) continue;
        const sent = JSON.stringify(request).slice(0, 300);
        findings.set(nameOf(operation), `${answer.statusCode} ${error?.detail} to ${sent}`);
      }
    }
    expect(Object.fromEntries(findings)).toEqual({});
  });

  it('get 405 with Allow for every method that it does not name', async () => {
    const wrong: string[] = [];
    for (const [path, named] of Map.groupBy(operations, (each) => each.path)) {
      const known = named.map(({ method }) => method.toUpperCase());
      const url = path.replaceAll(/\{\w+\}/g, '1');
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY']) {
        if (known.includes(method)) continue;
        // Sound: the types of inject know fewer methods than it sends.
        const answer = await app.inject({ method: method as 'GET', url, headers: { authorization } });
        const allow = String(answer.headers['allow']).split(', ');
        if (answer.statusCode !== 405 || known.some((each) => !allow.includes(each))) wrong.push(`${method} ${path}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('are refused when a body is null where the document wants an object', async () => {
    const wrong: string[] = [];
    for (const { method, path, body } of operations.filter((each) => each.body?.type === 'object')) {
      const url = path.replace('{project_id}', '@current').replaceAll(/\{\w+\}/g, '1');
      const headers = { authorization, 'content-type': 'application/json' };
      const { statusCode } = await app.inject({ method, url, headers, payload: 'null' });
      if (statusCode !== 400) wrong.push(`${method} ${path}: ${statusCode} for null instead of ${body?.type}`);
    }
    expect(wrong).toEqual([]);
  });
});

function nameOf({ method, path }: Operation): string {
  return `${method} ${path}`;
}

function deletesTheProject({ method, path }: Operation): boolean {
  return method === 'delete' && path === '/api/projects/{project_id}';
}

/** What would stand in the way of the next request: a user has ten keys at most, and the project must stay. */
async function forget({ path }: Operation): Promise<void> {
  if (path.includes('personal_api_keys'))
    await app.db.deleteFrom('personal_api_keys').where('label', '!=', 'test').execute();
}

function operationsOf(document: {
  paths: Record<string, Record<string, { parameters: Operation['parameters']; requestBody?: Body; responses: object }>>;
}): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters, requestBody, responses }]) => ({
      // Sound: the document holds no other methods.
      method: method as Operation['method'],
      path,
      parameters,
      body: requestBody?.content['application/json']?.schema,
      statuses: Object.keys(responses).map(Number),
    })),
  );
}

interface Body {
  readonly content: Readonly<Record<string, { readonly schema: Schema } | undefined>>;
}

function requestOf({ path, parameters, body }: Operation): fc.Arbitrary<{ url: string; payload?: object }> {
  const inPath = parameters.filter((each) => each.in === 'path');
  const inQuery = parameters.filter((each) => each.in === 'query' && each.schema.format !== 'cursor');
  return fc
    .record({
      path: fc.record(
        Object.fromEntries(
          inPath.map(({ name, schema }) => [name, name === 'project_id' ? fc.constant('@current') : valueOf(schema)]),
        ),
      ),
      query: fc.record(Object.fromEntries(inQuery.map(({ name, schema }) => [name, valueOf(schema)])), {
        requiredKeys: inQuery.filter((each) => each.required).map(({ name }) => name),
      }),
      payload: body === undefined ? fc.constant(undefined) : valueOf(body),
    })
    .map((made) => {
      const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(String(made.path[name])));
      const query = new URLSearchParams(
        Object.entries(made.query).map(([name, value]): [string, string] => [name, String(value)]),
      );
      const url = `${filled}?${query}`;
      return made.payload === undefined ? { url } : { url, payload: made.payload as object };
    });
}

const hour = fc.integer({ min: 0, max: 23 }).map((each) => String(each).padStart(2, '0'));
/** What the formats of the document stand for. Times lie ahead: of some only those are taken, as their texts say. */
const formats: Readonly<Record<string, fc.Arbitrary<string>>> = {
  uuid: fc.uuid(),
  'date-time': hour.map((each) => `2190-01-31T${each}:00:00Z`),
  date: hour.map((each) => `2190-01-${each === '00' ? '31' : each}`),
  'iana-time-zone': fc.constantFrom('UTC', 'Europe/Paris', 'America/Argentina/Buenos_Aires'),
  'property-filters': fc.constantFrom('[]', '[{"key":"plan","value":"pro"}]', '[{"key":"a","operator":"is_set"}]'),
};

function valueOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined && schema.type === undefined) return fc.oneof(...schema.anyOf.map(valueOf));
  switch (schema.type) {
    case 'integer':
      return fc.integer({ min: schema.minimum ?? 0, max: Math.min(schema.maximum ?? 1000, 2 ** 31 - 1) });
    case 'number':
      return fc.double({
        min: schema.exclusiveMinimum ?? schema.minimum ?? 0,
        minExcluded: schema.exclusiveMinimum !== undefined,
        max: schema.maximum ?? 1000,
        noNaN: true,
      });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'string':
      return textOf(schema);
    case 'array':
      return fc.array(valueOf(schema.items ?? {}), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 5, 5),
      });
    case 'object':
      return objectOf(schema);
    default:
      return fc.jsonValue();
  }
}

function textOf(schema: Schema): fc.Arbitrary<string> {
  const { minLength = 0, maxLength = 100, pattern, format } = schema;
  const known = formats[format ?? ''];
  if (known !== undefined) return known;
  const text =
    pattern === undefined
      ? fc.string({ minLength, maxLength: Math.min(maxLength, 300) })
      : fc.stringMatching(new RegExp(pattern));
  return text.filter((each) => each.length >= minLength && each.length <= maxLength && !each.includes('\0'));
}

function objectOf(schema: Schema): fc.Arbitrary<object> {
  const { properties = {}, required = [], patternProperties, minProperties = 0 } = schema;
  const groups = schema.oneOf ?? schema.anyOf ?? [{}];
  if (patternProperties !== undefined) {
    const [value = {}] = Object.values(patternProperties);
    return fc.dictionary(fc.nat(1000).map(String), valueOf(value), { minKeys: minProperties, maxKeys: 5 });
  }
  const named = new Set(groups.flatMap((group) => group.required ?? []));
  // Opaque values are omitted, since clients do not make them up.
  const made = Object.entries(properties).filter(([, field]) => field.format !== 'cursor');
  return fc.oneof(
    ...groups.map((group) => {
      const fields = made.filter(([name]) => !named.has(name) || group.required?.includes(name));
      const requiredKeys = [...required, ...(group.required ?? [])];
      return fc
        .record(Object.fromEntries(fields.map(([name, field]) => [name, valueOf(field)])), { requiredKeys })
        .filter((value) => Object.keys(value).length >= minProperties);
    }),
  );
}
