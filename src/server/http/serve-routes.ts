import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isKnownEarly, type Access, type AccessDeps } from './access.ts';
import { answerRoute, apiHeaders, readyToSend, type AnsweredRoute } from './answer-route.ts';
import type { ApiReply, ApiRoute } from './api-route.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { openUpload, readMultipart, type ParsedBody } from './body.ts';
import { refuseOtherMethods } from './refuse-methods.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Result of checkAccess; null before it and on public routes. */
    access: Access | null;
  }
  interface FastifyContextConfig {
    readonly takesUpload?: boolean;
    readonly keepsDigits?: boolean;
  }
}

const projectsPrefix = '/api/projects/:project_id';
const environmentsPrefix = '/api/environments/:project_id';

/** Serves the API routes: every path with and without a trailing slash, project paths under both names. */
export function serveRoutes(app: FastifyInstance, routes: readonly ApiRoute[], deps: AccessDeps): AnsweredRoute[] {
  app.decorateRequest('access', null);
  const methodsByPath = new Map<string, Set<string>>();
  const stopping = stoppingSignal(app);
  const answered = routes.map((route) => answerRoute(route, { ...deps, stopping }));
  for (const each of answered) {
    const { route } = each;
    const served = serveRoute(each);
    const config = { takesUpload: route.takesUpload === true, keepsDigits: route.keepsDigits === true };
    for (const url of pathsOf(route).flatMap((path) => [path, `${path}/`])) {
      app.route({ method: route.method, url, config, ...served });
      const known = methodsByPath.get(url) ?? new Set();
      methodsByPath.set(url, known.add(route.method));
      if (route.method === 'GET') known.add('HEAD');
    }
  }
  for (const [url, known] of methodsByPath) refuseOtherMethods(app, url, known);
  return answered;
}

/** Returns the paths of a route; each is also served with a trailing slash. */
export function pathsOf({ path }: Pick<ApiRoute, 'path'>): string[] {
  return path === projectsPrefix || path.startsWith(`${projectsPrefix}/`)
    ? [path, environmentsPrefix + path.slice(projectsPrefix.length)]
    : [path];
}

interface ServedRoute {
  readonly onRequest: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
}

/** The server waits for current responses before it stops, so endless ones must be ended first. */
function stoppingSignal(app: FastifyInstance): AbortSignal {
  const stopping = new AbortController();
  app.addHook('preClose', (done) => {
    stopping.abort();
    done();
  });
  return stopping.signal;
}

function serveRoute({ route, checkAccess, answer }: AnsweredRoute): ServedRoute {
  const check = async (request: FastifyRequest, reply: FastifyReply, body?: ParsedBody): Promise<Access | null> => {
    const also = {};
    return checkAccess(request, also, body).finally(() => void reply.headers(also));
  };
  return {
    async onRequest(request, reply) {
      reply.headers(apiHeaders);
      if (isKnownEarly(request)) request.access = await check(request, reply);
    },
    async handler(request, reply) {
      const body = route.takesUpload === true ? undefined : await bodyOf(request);
      request.access ??= await check(request, reply, body);
      return send(
        reply,
        await answer(request, request.access, { body, upload: () => openUpload(request), gone: () => goneOf(reply) }),
      );
    },
  };
}

/** Returns a signal that is aborted when the client closes its connection before the response is written. */
function goneOf({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const close = (): void => {
    if (!raw.writableEnded) gone.abort(new ApiError('parse_error', 'The client disconnected before it was answered.'));
  };
  if (raw.destroyed) close();
  else raw.once('close', close);
  return gone.signal;
}

async function bodyOf(request: FastifyRequest): Promise<ParsedBody | undefined> {
  return request.isMultipart() ? readMultipart(request) : (request.body as ParsedBody | undefined);
}

function send(reply: FastifyReply, answer: ApiReply): FastifyReply {
  const { status, headers, body } = readyToSend(answer);
  return reply.code(status).headers(headers).send(body);
}
