import type { Draw } from '../../../test/support/draw.ts';
import { damaged, hostileJson, unusualJson } from './unusual-json.ts';
import type { Operation } from './operations.ts';
import { wholeRequest, type FuzzRequest, type Headers, type RequestMaker, type World } from './request.ts';
import { jsonFor, parameterFor } from './schema-value.ts';

/** Operations that ask the event store or start something: ten to a hundred times the work of the others. */
const costly =
  /\/(events?|event_names|property_names|\w+_definitions|status|imported_\w+|metrics|preflight|test|import_preview|plugins)\b/;
const costlyShare = 0.04;

const json: Headers = [['Content-Type', 'application/json']];
const oddTypes = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-16',
  'x',
  '',
];

/** As the document says it, with the key. */
export const asDocumented: RequestMaker = (draw, world) => call(draw, world, 'api', 0, json, true);

/** Every tenth value something else. */
export const withUnusualValues: RequestMaker = (draw, world) =>
  call(draw, world, 'api, unusual values', 0.1, json, true);

/** Bodies that are broken, deep, long, in other types or encodings than they claim. */
export const withBrokenBody: RequestMaker = (draw, world) => {
  const operation = pickOperation(draw, world, ({ body }) => body !== undefined);
  const good = Buffer.from(jsonFor(draw, world, operation.body ?? {}, 0));
  const body = draw.pick([
    () => damaged(draw, good),
    () => Buffer.from(hostileJson(draw)),
    () => Buffer.from(unusualJson(draw)),
    () => Buffer.from(good.toString(), 'utf16le'),
    () => Buffer.alloc(0),
  ])();
  const type = draw.chance(0.6) ? 'application/json' : draw.pick(oddTypes);
  const encoding: Headers = draw.chance(0.1) ? [['Content-Encoding', draw.pick(['gzip', 'br', 'x', 'identity'])]] : [];
  return wholeRequest(world, {
    kind: 'api, broken bodies',
    method: operation.method,
    target: targetOf(draw, world, operation, 0),
    headers: [...authorized(world), ['Content-Type', type], ...encoding],
    body,
    chunkBytes: draw.chance(0.1) ? 1 + draw.int(500) : undefined,
    statuses: operation.statuses,
  });
};

/** Without a key, with an invalid one, with the public one; in headers, query and body. */
export const withoutAccess: RequestMaker = (draw, world) => {
  const keys = ['', 'phx_wrong', world.targetToken, 'é', 'x'.repeat(3000), "' OR 1=1"];
  const schemes = ['Bearer ', 'bearer', 'Basic ', 'Bearer  ', 'Token ', ''];
  const headers: Headers = draw.chance(0.3)
    ? []
    : draw.chance(0.2)
      ? [['Cookie', `millrace_session=${draw.pick(keys)}`]]
      : [['Authorization', draw.pick(schemes) + draw.pick(keys)]];
  const refused = call(draw, world, 'api, without access', 0, [...headers, ...json], false);
  // Without a key no other response is allowed.
  return { ...refused, statuses: new Set([400, 401, 403, 404, 413, 415, 429]) };
};

/** Methods and paths that there are not. */
export const ofOtherPaths: RequestMaker = (draw, world) => {
  const method = draw.pick(['GET', 'HEAD', 'OPTIONS', 'DELETE', 'PUT', 'PATCH', 'POST', 'TRACE', 'PROPFIND']);
  const operation = pickOperation(draw, world, () => true);
  const known = targetOf(draw, world, operation, 0);
  const target = draw.pick([
    () => known.replace('/api/', draw.pick(['/api//', '/API/', '/api/environments/', '/api/../api/', '/api/%2e%2e/'])),
    () => `${known.split('?')[0]}/${draw.pick(['x', '%', '%00', '%ff', '..;', '\\', '@current', '1'])}`,
    () =>
      `/${draw.pick(['', 'x', 'api', 'api/', 'livez', 'console/', 'console/x.js', 'static/x', 'decide/', 'flags/?v=2', '.env', '%c0%af'])}`,
    () =>
      `/${draw.pick(['array/x/config.js', 's/', 'static/array.js', 'api/openapi.json', 'api/docs', 'metrics', '//x', '?', 'a'.repeat(5000)])}`,
  ])();
  // A project is not to go, and a user who makes the requests is not either.
  const safe = method === 'DELETE' || method === 'PATCH' ? '/api/none' : target;
  return wholeRequest(world, { kind: 'other paths', method, target: safe, headers: authorized(world) });
};

function call(
  draw: Draw,
  world: World,
  kind: string,
  unusualShare: number,
  headers: Headers,
  access: boolean,
): FuzzRequest {
  const operation = pickOperation(draw, world, ({ isPublic }) => access || !isPublic);
  const { method, body, statuses } = operation;
  return wholeRequest(world, {
    kind,
    method,
    target: targetOf(draw, world, operation, unusualShare),
    headers: access ? [...authorized(world), ...headers] : headers,
    body: body === undefined ? undefined : Buffer.from(jsonFor(draw, world, body, unusualShare)),
    // An unusual value in a path makes it another path.
    ...(unusualShare === 0 ? { statuses } : {}),
  });
}

function authorized({ key }: World): Headers {
  return [['Authorization', `Bearer ${key}`]];
}

function pickOperation(draw: Draw, world: World, suits: (operation: Operation) => boolean): Operation {
  for (;;) {
    const operation = draw.pick(world.operations);
    if (!suits(operation) || endsTheRun(operation)) continue;
    if (!costly.test(operation.path) || draw.chance(costlyShare)) return operation;
  }
}

/** The projects of the run are to stay. */
function endsTheRun({ method, path }: Operation): boolean {
  return method === 'DELETE' && path === '/api/projects/{project_id}';
}

function targetOf(draw: Draw, world: World, { path, parameters }: Operation, unusualShare: number): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const parameter = parameters.find((each) => each.in === 'path' && each.name === name);
    const text = parameter === undefined ? '1' : parameterFor(draw, world, parameter, unusualShare);
    return encodeURIComponent(text);
  });
  const query = parameters
    .filter((each) => each.in === 'query' && (each.required === true || draw.chance(0.25)))
    .map((each) => `${each.name}=${encodeURIComponent(parameterFor(draw, world, each, unusualShare))}`);
  const slash = draw.chance(0.3) ? '/' : '';
  return filled + slash + (query.length > 0 ? `?${query.join('&')}` : '');
}
