import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { fastify, LogController, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import type { Settings } from '../config/settings.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { OidcSignIn } from '../sign-in/oidc-sign-in.ts';
import type { Log } from '../telemetry/log.ts';
import type { MetricsRegistry } from '../telemetry/metrics.ts';
import type { ApiRoute } from './api-route.ts';
import type { Auth } from './auth.ts';
import { bodyBytesMax, registerBodyParsers } from './body.ts';
import { createHostCheck, refuseUnclearHost } from './check-host.ts';
import { serveConsole } from './console/serve-console.ts';
import { compressAnswers } from './compress-answers.ts';
import { allowOrigin } from './cors.ts';
import { answerRoute } from './answer-route.ts';
import { findReads } from './direct-reads.ts';
import { answerDirectly } from './direct.ts';
import { errorAnswer } from './error-answer.ts';
import { createFindPath, paramLengthMax } from './find-path.ts';
import { keepTrustedAddress } from './forwarded-address.ts';
import { serveHealth, type HealthChecks } from './health.ts';
import { createNoteAnswer } from './note-answer.ts';
import { servePages } from './pages.ts';
import { policiesOf } from './policies.ts';
import type { RateLimiter } from './rate-limit.ts';
import { requestIdOf } from './request-id.ts';
import { siteUrlOf } from './request-origin.ts';
import { pathOf } from './route-request.ts';
import { serveRoutes, stoppingSignal } from './serve-routes.ts';

export interface ServedApi {
  readonly routes: readonly ApiRoute[];
  /** Limits requests per personal key; `undefined` means no limit. */
  readonly rateLimiter?: RateLimiter | undefined;
  /** Signs users in with a provider; `undefined` if none is set up. */
  readonly oidc?: OidcSignIn | undefined;
  /** Adds plain pages (such as the API docs) beside the API. */
  readonly registerPages?: (app: FastifyInstance) => void;
}

export interface ServerDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  readonly settings: Settings;
  /** Shared with the routes that change keys and projects. Closed with the server. */
  readonly auth: Auth;
  /** `undefined` means no API and no console. */
  readonly api?: ServedApi;
  readonly health: HealthChecks;
  /** Adds routes that read their own bodies; they get a scope without any body parser. */
  readonly registerCapture?: (app: FastifyInstance) => void;
  /** Directory of the built console. Default: console/dist of this package. */
  readonly consoleDir?: string;
}

const consoleDir = fileURLToPath(new URL('../../../console/dist', import.meta.url));

const headersTimeoutMs = 10_000;
const keepAliveMs = 72_000;
/** Added to the time that capture allows for a body, so that its own, clearer response is sent first. */
const requestTimeoutSlackMs = 5_000;

/** Builds the HTTP server of all roles; it does not listen yet. */
export function buildServer(deps: ServerDeps): FastifyInstance {
  const { log, settings, auth, api, registerCapture } = deps;
  const app = createFastify(settings, log);
  observe(app, deps);
  drainOnClose(app, log);
  leaveBodiesUnread(app);
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply, log));
  app.setNotFoundHandler(async (request, reply) => refusePath(request, reply));
  serveHealth(app, deps.health, deps.metrics);
  if (api !== undefined) serveApi(app, deps, api);
  if (registerCapture !== undefined) {
    void app.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      registerCapture(scope);
    });
  }
  app.addHook('onClose', () => auth.close());
  return app;
}

function refusePath(request: FastifyRequest, reply: FastifyReply): never {
  // Browser libraries request parts that are not served here; without this, their console reports a CORS error.
  allowOrigin(request, reply);
  throw new ApiError('not_found', insteadOf(pathOf(request.url)) ?? 'Endpoint not found.');
}

/** Requests without a route are refused before the framework reads and parses their body. Scopes have their own parsers. */
function leaveBodiesUnread(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
}

/** Serves the routes, the console and the pages, which only answer requests for known hosts. */
function serveApi(app: FastifyInstance, deps: ServerDeps, api: ServedApi): void {
  const { routes, rateLimiter, oidc, registerPages } = api;
  const { db, clock, log, metrics, settings, auth } = deps;
  const siteUrl = siteUrlOf(settings);
  const checkHost = createHostCheck(settings);
  const checkingHost = (request: FastifyRequest, _reply: FastifyReply, done: () => void): void => {
    checkHost(request);
    done();
  };
  void app.register(async (scope) => {
    const answerDeps = { auth, rateLimiter, siteUrl, stopping: stoppingSignal(scope) };
    const findPath = createFindPath(routes.map((route) => answerRoute(route, answerDeps)));
    serveRoutes(scope, findPath, refusePath);
    scope.addHook('onRequest', checkingHost);
    registerBodyParsers(scope);
    compressAnswers(scope);
    const { trustProxy: trustsProxy } = settings;
    answerDirectly(scope, { log, metrics, trustsProxy, find: findReads(findPath, { checkHost, trustsProxy }) });
    const { isBuilt } = serveConsole(scope, deps.consoleDir ?? consoleDir);
    servePages(scope, { db, clock, auth, log, siteUrl, hasConsole: isBuilt, oidc, ...policiesOf(settings) });
  });
  if (registerPages === undefined) return;
  void app.register(async (scope) => {
    scope.addHook('onRequest', checkingHost);
    registerPages(scope);
  });
}

/** Suppresses Fastify's info line with the address: the service logs its own. */
function withoutAnnouncements(log: Log): Log {
  if (log.isLevelEnabled('debug') || !log.isLevelEnabled('info')) return log;
  return log.child({}, { level: 'warn' });
}

function createFastify(settings: Settings, log: Log): FastifyInstance {
  const requestTimeout = settings.captureBodyTimeoutMs + requestTimeoutSlackMs;
  return fastify({
    loggerInstance: withoutAnnouncements(log),
    // Fastify makes a child logger per request; ours adds the request id where it logs.
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIdOf,
    trustProxy: settings.trustProxy,
    bodyLimit: bodyBytesMax,
    requestTimeout,
    keepAliveTimeout: keepAliveMs,
    http: { headersTimeout: Math.min(headersTimeoutMs, requestTimeout), connectionsCheckingInterval: 1_000 },
    routerOptions: { maxParamLength: paramLengthMax },
    // A fault in closing one connection must not keep the others open.
    forceCloseConnections: 'idle',
    // Requests that arrive while closing are still answered, with `Connection: close`; app.close() waits for them.
    return503OnClosing: false,
    clientErrorHandler: answerBrokenConnection,
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id);
      answerError(error, request, reply, log);
    },
  }) as unknown as FastifyInstance;
}

/** Adds the request id to every response, and records the outcome. */
function observe(app: FastifyInstance, deps: ServerDeps): void {
  const { trustProxy } = deps.settings;
  app.addHook('onRequest', (request, reply, done) => {
    if (trustProxy) keepTrustedAddress(request.raw);
    reply.header('x-request-id', request.id);
    refuseUnclearHost(request);
    done();
  });
  const noteAnswer = createNoteAnswer(deps);
  app.addHook('onResponse', (request, reply, done) => {
    const { id: requestId, method } = request;
    noteAnswer({ requestId, method, route: routeOf(request), status: reply.statusCode, ms: reply.elapsedTime });
    done();
  });
}

function routeOf(request: FastifyRequest): string {
  const url = request.found?.pattern ?? request.routeOptions.url ?? 'unknown';
  return url.length > 1 && url.endsWith('/') ? url.slice(0, -1) : url;
}

function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): void {
  const { raw, id, method } = request;
  const { status, headers, body } = errorAnswer(error, { raw, id, method, route: routeOf(request) }, log);
  // Fastify closes the connection of a body that it refuses while the client still writes: the client would see a reset instead of
  // the response. errorAnswer decides how much is read.
  reply.removeHeader('connection').code(status).headers(headers).send(body);
}

/** Answers invalid HTTP, headers that are too large and slow requests, for which no request or reply exists yet. */
function answerBrokenConnection(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const answer = brokenConnectionError(error.code);
  const body = JSON.stringify(answer.body());
  const head = [
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${newId()}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function brokenConnectionError(code: string | undefined): ApiError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ApiError('request_timeout', 'The request did not arrive in time.');
  if (code === 'HPE_HEADER_OVERFLOW') return new ApiError('request_too_large', 'The request headers are too large.');
  return new ApiError('parse_error', 'The request is not valid HTTP.');
}

/** Requests that are not answered by then are aborted, and their senders retry. Leaves time to store accepted events. */
const drainMsMax = 5_000;
const sweepMs = 50;

/**
 * Makes `app.close()` end soon. Node closes the connections that are idle when the close begins; but those that become idle
 * later, and those that never sent a byte, would keep the server open for as long as their clients like.
 */
function drainOnClose(app: FastifyInstance, log: Log): void {
  const sockets = new Set<Socket>();
  app.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  let isClosing = false;
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (isClosing) void reply.header('connection', 'close');
    done(null, payload);
  });
  app.addHook('preClose', (done) => {
    isClosing = true;
    const { server } = app;
    const sweep = setInterval(() => {
      server.closeIdleConnections();
      // Node treats a connection that never sent a byte as a late request, not as idle.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    }, sweepMs);
    const deadline = setTimeout(() => {
      log.warn({ connections: sockets.size }, 'stopping: aborting requests that did not end in time');
      server.closeAllConnections();
    }, drainMsMax);
    server.once('close', () => {
      clearInterval(sweep);
      clearTimeout(deadline);
    });
    done();
  });
}

/** Parts of PostHog's API that this service does not have, with the alternative, for scripts written for that API. */
const instead: Readonly<Record<string, string>> = {
  query:
    'Queries are not answered by this service. Read events with GET /api/projects/:project_id/events/, counts of them with ' +
    '/events/counts/, or ask the ClickHouse that stores them.',
  ...same(
    'Charts are made elsewhere, from the events that this service stores: GET /api/projects/:project_id/events/counts/ counts them.',
    ['insights', 'dashboards', 'dashboard_templates', 'trends', 'funnels', 'saved_queries', 'warehouse_saved_queries'],
  ),
  ...same('This service has no cohorts. Read persons with GET /api/projects/:project_id/persons/.', [
    'cohorts',
    'cohort',
  ]),
  ...same(
    'This service has no actions and annotations. Events are read with GET /api/projects/:project_id/events/, and changed by transformations.',
    ['actions', 'action', 'annotations', 'annotation'],
  ),
  ...same('This service has no feature flags, experiments and surveys: client libraries receive empty lists.', [
    'feature_flags',
    'feature_flag',
    'experiments',
    'surveys',
    'early_access_feature',
  ]),
  ...same('Session recordings are not taken by this service.', ['session_recordings', 'session_recording_playlists']),
  ...same(
    'Events are exported by plugins with onEvent, exportEvents or composeWebhook: see /api/projects/:project_id/pipeline_transformation_configs/.',
    ['batch_exports', 'hog_functions', 'hog_flows', 'hooks', 'subscriptions'],
  ),
};

function same(sentence: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, sentence]));
}

/** The same for paths that receive data. */
const insteadOfTaking: readonly (readonly [path: RegExp, sentence: string])[] = [
  [
    /^\/i\/v\d+\/ai(?:\/|$)/,
    'AI events are taken as JSON, as any other: send $ai_generation and the like to /batch/ or /i/v0/ai/batch. Multipart forms and ' +
      'OpenTelemetry are not accepted.',
  ],
  [
    /^\/i\/v\d+\/(?:logs|traces|metrics|otel)(?:\/|$)/,
    'This service does not accept logs, traces and metrics: it takes events, at /batch/.',
  ],
];

const ownerPrefix = /^\/api\/(?:(?:projects|environments|organizations)\/[^/]+\/)?(?<name>[a-z_]+)(?:\/|$)/;

/** Returns the sentence for a path that does not exist, or `undefined` for other paths. */
export function insteadOf(path: string): string | undefined {
  const taking = insteadOfTaking.find(([form]) => form.test(path));
  if (taking !== undefined) return taking[1];
  const name = ownerPrefix.exec(path)?.groups?.['name'];
  return name !== undefined && Object.hasOwn(instead, name) ? instead[name] : undefined;
}
