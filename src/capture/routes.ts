import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Settings } from '../config/settings.ts';
import { capturePaths, captureV1Path } from '../contract/capture.ts';
import { ApiError } from '../contract/errors.ts';
import { allowOrigin } from '../http/cors.ts';
import { refuseOtherMethods } from '../http/refuse-methods.ts';
import type { Log } from '../telemetry/log.ts';
import { createGunzipper } from './gunzip.ts';
import { createEncodingInflater } from './inflate-encoding.ts';
import type { BodyBudget } from './read-body.ts';
import { hintsOf, queryOf, withBody } from './routes-request.ts';
import { registerStartup } from './routes-startup.ts';
import { takeRequest, type CaptureDeps } from './take-request.ts';
import { takeV1, type CaptureV1Deps } from './take-v1.ts';
import { toV1Error } from './v1-error.ts';
import { readV1Headers } from './v1-headers.ts';

export interface CaptureRouteDeps extends Omit<CaptureDeps, 'gunzip'> {
  readonly log: Log;
}

/** Bodies in memory at once, as a multiple of the largest one. */
const bodiesInMemory = 16;

/**
 * Serves everything that client libraries send events to, and the answers they want at start-up. Bodies are read from the
 * raw stream: the scope must have no body parser of its own. Errors are thrown as ApiError for the server to answer.
 */
export function registerCapture(app: FastifyInstance, given: CaptureRouteDeps): void {
  const deps = { ...given, gunzip: createGunzipper(), inflate: createEncodingInflater() };
  const budget: BodyBudget = { bytes: 0, bytesMax: memoryFor(deps.settings) };
  // Leaves every body unread for the handlers below.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.addHook('onRequest', (request, reply, done) => {
    allowOrigin(request, reply);
    done();
  });
  for (const url of capturePaths.flatMap((path) => [path, `${path}/`])) {
    // A probe takes no event, whatever its query holds.
    app.head(url, async (_request, reply) => reply.send());
    app.route({
      method: ['GET', 'POST'],
      url,
      handler: async (request, reply) => capture(deps, budget, request, reply),
    });
    answerOptions(app, url, ['GET', 'HEAD', 'POST']);
  }
  for (const url of [captureV1Path, `${captureV1Path}/`]) {
    app.post(url, async (request, reply) => captureV1(deps, budget, request, reply));
    answerOptions(app, url, ['POST']);
  }
  registerRecordings(app);
  registerStartup(app, deps, budget);
}

/** Bytes that requests may keep in memory together; one of the largest kind always fits. */
function memoryFor({ captureBodyBytesMax, captureInflatedBytesMax }: Settings): number {
  return Math.max(bodiesInMemory * captureBodyBytesMax, 2 * (captureBodyBytesMax + captureInflatedBytesMax));
}

type Served = CaptureV1Deps & CaptureRouteDeps;

async function capture(
  deps: Served,
  budget: BodyBudget,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const ip = senderOf(request);
  return withBody(deps, budget, request, async (body, hold) => {
    const completeAt = performance.now();
    const query = queryOf(request);
    const strict = /\bhandling\s*=\s*"?strict\b/i.test(String(request.headers.prefer ?? ''));
    const answer = await takeRequest(deps, {
      body,
      hold,
      hints: hintsOf(request, query),
      querySentAt: query.get('_') ?? query.get('sent_at') ?? undefined,
      isEngage: request.url.startsWith('/engage'),
      strict,
      ip,
      requestId: request.id,
      receivedAt: deps.clock.now(),
      completeAt,
    });
    if (strict) void reply.header('preference-applied', 'handling=strict');
    if (query.get('beacon') === '1') return reply.code(204).send();
    return reply.send(answer);
  });
}

async function captureV1(
  deps: Served,
  budget: BodyBudget,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const echoed = request.headers['posthog-request-id'];
  if (typeof echoed === 'string' && /^[\x21-\x7e]{1,64}$/.test(echoed)) void reply.header('posthog-request-id', echoed);
  const ip = senderOf(request);
  try {
    return await withBody(deps, budget, request, async (body, hold) => {
      const completeAt = performance.now();
      const headers = readV1Headers(request.headers);
      const answer = await takeV1(deps, {
        body,
        hold,
        contentEncoding: request.headers['content-encoding'],
        headers,
        ip,
        requestId: request.id,
        receivedAt: deps.clock.now(),
        completeAt,
      });
      return reply.send(answer);
    });
  } catch (error) {
    const refusal = toV1Error(error);
    if (refusal === undefined) throw error;
    if (refusal.status >= 500) deps.log.error({ err: error, requestId: request.id }, refusal.message);
    return reply.code(refusal.status).headers(refusal.headers).send(refusal.body());
  }
}

/**
 * The sender's address without the port that some proxies add to IPv4, and without the IPv6 wrapping of one. To be asked
 * before the body is awaited: a connection that was reset since has none, unless it was asked before.
 */
function senderOf({ ip }: FastifyRequest): string | undefined {
  // Fastify's type knows nothing of closed connections.
  const address = (ip as string | undefined) ?? '';
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1');
  return plain === '' ? undefined : plain;
}

/** Answers the preflight of a path, and 405 to what it does not take. */
function answerOptions(app: FastifyInstance, url: string, taken: readonly string[]): void {
  app.options(url, async (_request, reply) =>
    reply.header('allow', [...taken, 'OPTIONS'].join(', ')).send({ status: 'Ok' }),
  );
  refuseOtherMethods(app, url, new Set([...taken, 'OPTIONS']));
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
          'Session recordings are not taken by this service; switch them off in the client library (disable_session_recording).',
        );
      },
    });
  }
}
