import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isKnownEarly, type Access } from './access.ts';
import { apiHeaders, readyToSend, type AnsweredRoute } from './answer-route.ts';
import type { ApiReply } from './api-route.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { openUpload, readMultipart, type ParsedBody } from './body.ts';
import type { FindPath, FoundPath } from './find-path.ts';
import { methodNotAllowed, methods } from './refuse-methods.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Result of checkAccess; null before it and on public routes. */
    access: Access | null;
    /** The requested path of the management API; null for other paths. */
    found: FoundPath<AnsweredRoute> | null;
  }
}

/** Refuses a path that does not exist. */
type RefusePath = (request: FastifyRequest, reply: FastifyReply) => never;

/** Serves the API routes: every path with and without a trailing slash, project paths under both names. */
export function serveRoutes(app: FastifyInstance, findPath: FindPath<AnsweredRoute>, refusePath: RefusePath): void {
  const url = '/api/*';
  app.decorateRequest('access', null);
  app.decorateRequest('found', null);
  // Before the other checks of the scope: a path that does not exist is answered as such.
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.url !== url) return;
    request.found = findPath(request.url) ?? refusePath(request, reply);
    request.params = request.found.params;
  });
  app.route({ method: methods.filter((method) => method !== 'HEAD'), url, onRequest: checkEarly, handler: handle });
}

/** Returns the route of a request, once it is found. @throws ApiError if its path has none of the method */
export function routeOf({ found, method }: FastifyRequest): AnsweredRoute {
  const route = found?.byMethod.get(method);
  if (route === undefined) throw methodNotAllowed(method, new Set(found?.byMethod.keys()));
  return route;
}

/** Before the body is read, which a refused request does not need. */
async function checkEarly(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const route = routeOf(request);
  reply.headers(apiHeaders);
  if (isKnownEarly(request)) request.access = await checkAccess(route, request, reply);
}

async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { route, answer, ...checks } = routeOf(request);
  const body = route.takesUpload === true ? undefined : await bodyOf(request);
  request.access ??= await checkAccess(checks, request, reply, body);
  const given = { body, upload: () => openUpload(request), gone: () => goneOf(reply) };
  return send(reply, await answer(request, request.access, given));
}

async function checkAccess(
  route: Pick<AnsweredRoute, 'checkAccess'>,
  request: FastifyRequest,
  reply: FastifyReply,
  body?: ParsedBody,
): Promise<Access | null> {
  const also = {};
  return route.checkAccess(request, also, body).finally(() => void reply.headers(also));
}

/** Returns a signal that is aborted when the server begins to stop: it waits for current responses, so endless ones must be ended first. */
export function stoppingSignal(app: FastifyInstance): AbortSignal {
  const stopping = new AbortController();
  app.addHook('preClose', (done) => {
    stopping.abort();
    done();
  });
  return stopping.signal;
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
