import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Settings } from '../../server/config/settings.ts';
import { capturePaths, captureV1Path } from '../contract/capture.ts';
import { ApiError } from '../contract/errors.ts';
import { allowOrigin, originHeaders } from '../../server/http/cors.ts';
import {
  answerDirectly,
  type DirectAnswer,
  type DirectDeps,
  type DirectRequest,
  type DirectRoute,
} from '../../server/http/direct.ts';
import type { Log } from '../../server/telemetry/log.ts';
import { refuseLargeWrapped, decodeBody } from './decode.ts';
import { createGunzipper } from './gunzip.ts';
import { createEncodingInflater } from './inflate-encoding.ts';
import { createBodyBudget, type BodyBudget } from './read-body.ts';
import { hintsOf, queryOf, senderOf, traceparentOf, withBody, type Hold } from './request-parts.ts';
import { registerLibrary } from './routes-library.ts';
import { registerSegment } from './routes-segment.ts';
import type { SegmentDeps } from './take-segment.ts';
import { takeRequest, scanBody, type CaptureDeps } from './take-request.ts';
import { takeV1, type CaptureV1Deps } from './take-v1.ts';
import { toV1Error } from './v1-error.ts';
import { readV1Headers } from './v1-headers.ts';
import { remoteConfig } from './remote-config.ts';
import { answerOptions, get, slashed } from './routes-get.ts';
import { requireKnownKey, tokenOf } from './project-key.ts';

export interface CaptureRouteDeps extends Omit<SegmentDeps, 'gunzip'> {
  readonly log: Log;
}

/** Memory for bodies, as a multiple of the largest body. */
const bodiesInMemory = 16;

/**
 * Serves every path that client libraries send events to, and the requests they make at startup. Bodies are read from the raw
 * stream, so the scope must not have its own body parser. Errors are thrown as ApiError for the server to answer.
 */
export function registerCapture(app: FastifyInstance, given: CaptureRouteDeps): void {
  const deps = { ...given, gunzip: createGunzipper(), inflate: createEncodingInflater() };
  const budget = createBodyBudget(memoryFor(deps.settings));
  // Leaves bodies unread for the handlers below.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.addHook('onRequest', (request, reply, done) => {
    allowOrigin(request, reply);
    done();
  });
  const paths = [...capturePaths, captureV1Path].flatMap((path) => [path, `${path}/`]);
  const handle: DirectRoute['handle'] = (request, also) =>
    request.url.startsWith(captureV1Path) ? captureV1(deps, budget, request, also) : capture(deps, budget, request);
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const also = {};
    // Fastify waits for a returned reply.
    const { status, headers, body } = await handle(request, also).finally(() => void reply.headers(also));
    return reply.code(status).headers(headers).send(body);
  };
  for (const url of paths) {
    const isV1 = url.startsWith(captureV1Path);
    // A probe stores no event, even with `data=` in its query.
    if (!isV1) app.head(url, async (_request, reply) => reply.send());
    app.route({ method: isV1 ? ['POST'] : ['GET', 'POST'], url, handler });
    answerOptions(app, url, isV1 ? ['POST'] : ['GET', 'HEAD', 'POST']);
  }
  answerDirectly(app, { ...deps, find: findCapture(paths, handle), trustsProxy: deps.settings.trustProxy });
  registerRecordings(app);
  registerStartup(app, deps, budget);
  registerLibrary(app, deps);
  registerSegment(app, deps, budget);
}

/** Content types answered directly. Routes ignore the type; Fastify refuses invalid ones among the rest. */
const usualTypes = new Set([
  undefined,
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset=utf-8',
  'application/json;charset=UTF-8',
  'application/octet-stream',
  'application/x-www-form-urlencoded',
  'text/plain',
  'text/plain;charset=UTF-8',
]);

/** Finds the route of a POST request as client libraries send it. */
function findCapture(paths: readonly string[], handle: DirectRoute['handle']): DirectDeps['find'] {
  const handleWithOrigin: DirectRoute['handle'] = (request, also) => {
    Object.assign(also, originHeaders(request.headers));
    return handle(request, also);
  };
  const routes = new Map(
    paths.map((path) => [path, { route: path.replace(/\/$/, ''), handle: handleWithOrigin }] as const),
  );
  return ({ method, headers }, path) =>
    method === 'POST' && usualTypes.has(headers['content-type']) ? routes.get(path) : undefined;
}

/** Returns the bytes that requests may keep in memory together; the largest one always fits. */
function memoryFor({ captureBodyBytesMax, captureInflatedBytesMax }: Settings): number {
  return Math.max(bodiesInMemory * captureBodyBytesMax, 2 * (captureBodyBytesMax + captureInflatedBytesMax));
}

type Served = CaptureV1Deps & CaptureRouteDeps;

const json = { 'content-type': 'application/json; charset=utf-8' };

async function capture(deps: Served, budget: BodyBudget, request: DirectRequest): Promise<DirectAnswer> {
  const ip = senderOf(request);
  const take = async (body: Buffer, hold: Hold): Promise<DirectAnswer> => {
    const completeAt = performance.now();
    const query = queryOf(request);
    const { prefer } = request.headers;
    const strict = prefer !== undefined && /\bhandling\s*=\s*"?strict\b/i.test(String(prefer));
    const answer = await takeRequest(deps, {
      body,
      hold,
      hints: hintsOf(request, query),
      querySentAt: query.get('_') ?? query.get('sent_at') ?? undefined,
      isEngage: request.url.startsWith('/engage'),
      strict,
      ip,
      requestId: request.id,
      traceparent: traceparentOf(request),
      receivedAt: deps.clock.now(),
      completeAt,
    });
    const applied = strict ? { 'preference-applied': 'handling=strict' } : {};
    if (query.get('beacon') === '1') return { status: 204, headers: applied };
    return { status: 200, headers: { ...applied, ...json }, body: JSON.stringify(answer) };
  };
  return withBody(deps, budget, request, take, refuseLargeWrapped);
}

async function captureV1(
  deps: Served,
  budget: BodyBudget,
  request: DirectRequest,
  also: Record<string, string>,
): Promise<DirectAnswer> {
  const given = request.headers['posthog-request-id'];
  if (typeof given === 'string' && /^[\x21-\x7e]{1,64}$/.test(given)) also['posthog-request-id'] = given;
  const ip = senderOf(request);
  try {
    return await withBody(deps, budget, request, async (body, hold) => {
      const completeAt = performance.now();
      const answer = await takeV1(deps, {
        body,
        hold,
        contentEncoding: request.headers['content-encoding'],
        headers: readV1Headers(request.headers),
        ip,
        requestId: request.id,
        traceparent: traceparentOf(request),
        receivedAt: deps.clock.now(),
        completeAt,
      });
      return { status: 200, headers: json, body: JSON.stringify(answer) };
    });
  } catch (error) {
    const refusal = toV1Error(error);
    if (refusal === undefined) throw error;
    if (refusal.status >= 500) deps.log.error({ err: error, requestId: request.id }, refusal.message);
    const headers = { ...json, ...refusal.headers };
    return { status: refusal.status, headers, body: JSON.stringify(refusal.body()) };
  }
}

function registerRecordings(app: FastifyInstance): void {
  for (const url of ['/s', '/s/']) {
    answerOptions(app, url, ['GET', 'HEAD', 'POST']);
    app.route({
      method: ['GET', 'POST'],
      url,
      handler: async () => {
        throw new ApiError(
          'not_found',
          'This service does not accept session recordings; disable them in the client library (disable_session_recording).',
        );
      },
    });
  }
}

/**
 * Answers what client libraries request at startup, so that they continue and send events. This service has no feature flags,
 * surveys or recordings, so every answer is empty.
 */
function registerStartup(app: FastifyInstance, deps: CaptureDeps, budget: BodyBudget): void {
  for (const url of flagsPaths.flatMap(slashed)) {
    app.route({
      method: ['GET', 'POST'],
      url,
      handler: async (request) => {
        await deps.projects.projectOf(await tokenOfFlags(deps, budget, request));
        return { ...remoteConfig, ...noFlags, requestId: request.id };
      },
    });
    app.options(url, async () => ({ status: 'Ok' }));
  }
  for (const url of definitionsPaths.flatMap(slashed)) {
    get(app, url, async (request, reply) => {
      await deps.projects.projectOf(queryOf(request).get('token') ?? '');
      return answerDefinitions(request, reply);
    });
  }
  for (const url of slashed('/api/projects/:project_id/feature_flags/:key/remote_config')) {
    // The payload of a missing flag.
    get(app, url, async (_request, reply) => reply.type('application/json; charset=utf-8').send('null'));
  }
  for (const [path, none] of Object.entries(noFeatures)) {
    for (const url of slashed(path)) {
      get(app, url, async (request, reply) => {
        await deps.projects.projectOf(queryOf(request).get('token') ?? '');
        return reply.send(none);
      });
    }
  }
}

/** Paths that ask for the flags of a person. */
export const flagsPaths = ['/flags', '/decide'] as const;
/** Paths at which servers poll for flag definitions: the newer and the older one. */
export const definitionsPaths = ['/flags/definitions', '/api/feature_flag/local_evaluation'] as const;

/** Other paths that the browser library requests, some only on pages that enable the feature. */
export const noFeatures = {
  '/api/surveys': { surveys: [], survey_config: null },
  '/api/early_access_features': { earlyAccessFeatures: [] },
  '/api/product_tours': { product_tours: [] },
  '/api/web_experiments': { experiments: [] },
} as const;

const noFlags = { flags: {}, featureFlags: {}, featureFlagPayloads: {}, errorsWhileComputingFlags: false } as const;

const definitions = { flags: [], group_type_mapping: {}, cohorts: {} } as const;
const definitionsTag = '"no-flags"';

function answerDefinitions(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  void reply.header('etag', definitionsTag);
  if (request.headers['if-none-match'] === definitionsTag) return reply.code(304).send();
  return reply.send(definitions);
}

/** A flags request contains only a person and its groups. */
const flagsBytesMax = 1024 * 1024;

/** Returns the key of a flags request: from its JSON body, under the names that events use, or from the query. */
async function tokenOfFlags(deps: CaptureDeps, budget: BodyBudget, request: FastifyRequest): Promise<string> {
  const query = queryOf(request);
  const inQuery = query.get('token') ?? query.get('api_key');
  const read = async (body: Buffer): Promise<string> => {
    if (body.length === 0 && !query.get('data')) return inQuery ?? '';
    const limits = { inflatedBytesMax: flagsBytesMax };
    const hints = { ...hintsOf(request, query), legacyPath: true };
    const { json } = await decodeBody(body, hints, limits, deps.gunzip);
    await requireKnownKey(json, deps.projects);
    return tokenOf(scanBody(json, deps.settings));
  };
  return withBody(deps, budget, request, read, refuseLargeWrapped);
}
