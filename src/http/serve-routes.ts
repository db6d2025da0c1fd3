import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { checkAccess, checkAccessAgain, isKnownEarly, type Access, type AccessDeps } from './access.ts';
import type { ApiReply, ApiRequest, ApiRoute, Principal, ProjectRef, UploadedFile } from './api-route.ts';
import { openUpload, readMultipart, type ParsedBody } from './body.ts';
import { queryWithoutKey } from './credentials.ts';
import { refuseOtherMethods } from './refuse-methods.ts';
import { requestOrigin } from './request-origin.ts';
import { compileCheck, type Check } from './validation.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What checkAccess found; null until then and on public routes. */
    access: Access | null;
  }
  interface FastifyContextConfig {
    readonly takesUpload?: boolean;
  }
}

const projectsPrefix = '/api/projects/:project_id';
const environmentsPrefix = '/api/environments/:project_id';
const noFiles: ReadonlyMap<string, UploadedFile> = new Map();
const apiHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

/** Serves the table of API routes: every path with and without trailing slash, project paths under both names. */
export function serveRoutes(app: FastifyInstance, routes: readonly ApiRoute[], deps: AccessDeps): void {
  app.decorateRequest('access', null);
  const methodsByPath = new Map<string, Set<string>>();
  const stopping = stoppingSignal(app);
  for (const route of routes) {
    const served = serveRoute(route, deps, stopping);
    const config = { takesUpload: route.takesUpload === true };
    for (const url of urlsOf(route.path)) {
      app.route({ method: route.method, url, config, ...served });
      const known = methodsByPath.get(url) ?? new Set();
      methodsByPath.set(url, known.add(route.method));
      if (route.method === 'GET') known.add('HEAD');
    }
  }
  for (const [url, known] of methodsByPath) refuseOtherMethods(app, url, known);
}

function urlsOf(path: string): string[] {
  const paths =
    path === projectsPrefix || path.startsWith(`${projectsPrefix}/`)
      ? [path, environmentsPrefix + path.slice(projectsPrefix.length)]
      : [path];
  return paths.flatMap((each) => [each, `${each}/`]);
}

interface ServedRoute {
  readonly onRequest: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
}

/** The server waits for what is being answered before it stops; what has no end of its own has to end first. */
function stoppingSignal(app: FastifyInstance): AbortSignal {
  const stopping = new AbortController();
  app.addHook('preClose', (done) => {
    stopping.abort();
    done();
  });
  return stopping.signal;
}

function serveRoute(route: ApiRoute, deps: AccessDeps, stopping: AbortSignal): ServedRoute {
  const checks = compileChecks(route);
  const isPublic = route.scope === 'public';
  return {
    async onRequest(request, reply) {
      reply.headers(apiHeaders);
      if (isPublic || !isKnownEarly(request)) return;
      request.access = await checkAccess(deps, route, request, reply, undefined);
    },
    async handler(request, reply) {
      const body = route.takesUpload === true ? undefined : await bodyOf(request);
      if (!isPublic) request.access ??= await checkAccess(deps, route, request, reply, body);
      const query = checks.query === undefined ? request.query : checks.query(request.query, 'text');
      const params = checks.params === undefined ? request.params : checks.params(request.params, 'text');
      const given = body === undefined ? {} : body.value;
      const checked = checks.body === undefined ? given : checks.body(given, body?.source ?? 'json');
      const checkAgain = async (): Promise<void> => {
        if (request.access !== null) await checkAccessAgain(deps, route, request.access, request.ip);
      };
      const input = { params, query, body: checked, files: body?.files ?? noFiles, stopping, checkAgain };
      return send(reply, await route.handler(toApiRequest(request, deps.siteUrl, input)));
    },
  };
}

async function bodyOf(request: FastifyRequest): Promise<ParsedBody | undefined> {
  return request.isMultipart() ? readMultipart(request) : (request.body as ParsedBody | undefined);
}

interface Checks {
  readonly params: Check | undefined;
  readonly query: Check | undefined;
  readonly body: Check | undefined;
}

function compileChecks(route: ApiRoute): Checks {
  return {
    params: route.params && compileCheck(route.params, 'params'),
    query: route.query && compileCheck(route.query, 'query'),
    body: route.body && compileCheck(route.body, 'body'),
  };
}

interface CheckedInput {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly files: ReadonlyMap<string, UploadedFile>;
  readonly stopping: AbortSignal;
  readonly checkAgain: () => Promise<void>;
}

function toApiRequest(request: FastifyRequest, siteUrl: string, input: CheckedInput): ApiRequest {
  const { access } = request;
  return {
    ...input,
    get principal(): Principal {
      if (access === null) throw new Error('expected a route with a scope: a public route has no principal');
      return access.principal;
    },
    project(): ProjectRef {
      if (access?.project === undefined) throw new Error('expected a path with :project_id, got none');
      return access.project;
    },
    requestId: request.id,
    method: request.method,
    get url(): string {
      return requestOrigin(request, siteUrl) + pathOf(request.url);
    },
    get rawQuery(): string {
      const start = request.url.indexOf('?');
      return start === -1 ? '' : queryWithoutKey(request.url.slice(start + 1));
    },
    headers: request.headers,
    upload: () => openUpload(request),
  };
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

/** JSON, unless the handler names another content type for the text or bytes that it gives. */
function send(reply: FastifyReply, { status, body, headers }: ApiReply): FastifyReply {
  reply.code(status);
  if (headers !== undefined) reply.headers(headers);
  if (body === undefined) return reply.send();
  if (body instanceof Readable) return reply.send(body);
  const ready = (typeof body === 'string' || body instanceof Uint8Array) && reply.hasHeader('content-type');
  if (ready) return reply.send(body instanceof Uint8Array ? Buffer.from(body) : body);
  return reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(body));
}
