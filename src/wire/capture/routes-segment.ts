import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  segmentBatchPaths,
  segmentMessagePaths,
  segmentSettingsPath,
  sourceConfigPath,
  type MessageType,
} from '../contract/segment.ts';
import { refuseLargeWrapped } from './decode.ts';
import type { BodyBudget } from './read-body.ts';
import { hintsOf, queryOf, senderOf, traceparentOf, withBody } from './request-parts.ts';
import { answerOptions, get, slashed } from './routes-get.ts';
import { keyOfRequest } from './segment-key.ts';
import { takeSegment, type SegmentDeps } from './take-segment.ts';

/** Serves the paths to which libraries of Segment, RudderStack and Jitsu send, and the settings that those for browsers load. */
export function registerSegment(app: FastifyInstance, deps: SegmentDeps, budget: BodyBudget): void {
  const paths: readonly (readonly [path: string, type: MessageType | undefined])[] = [
    ...segmentBatchPaths.map((path) => [path, undefined] as const),
    ...Object.entries(segmentMessagePaths),
  ];
  for (const [path, type] of paths) {
    for (const url of slashed(path)) {
      app.post(url, (request, reply) => answer(deps, budget, type, request, reply));
      answerOptions(app, url, ['POST']);
    }
  }
  for (const url of slashed(segmentSettingsPath)) {
    get(app, url, async (request, reply) => {
      const { key } = request.params as { readonly key: string };
      await deps.projects.projectOf(key);
      return reply.send(librarySettings(key, request));
    });
  }
  for (const url of slashed(sourceConfigPath)) {
    get(app, url, async (request, reply) => {
      const key = keyOfRequest(request.headers, queryOf(request)) ?? '';
      await deps.projects.projectOf(key);
      return reply.send(sourceConfig(key));
    });
  }
}

async function answer(
  deps: SegmentDeps,
  budget: BodyBudget,
  type: MessageType | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const ip = senderOf(request);
  const query = queryOf(request);
  const key = keyOfRequest(request.headers, query);
  const take = async (body: Buffer, hold: (bytes: number) => void) => {
    const completeAt = performance.now();
    const hints = hintsOf(request, query);
    const receivedAt = deps.clock.now();
    const origin = { ip, requestId: request.id, traceparent: traceparentOf(request) };
    return takeSegment(deps, { ...origin, body, hints, hold, type, key, receivedAt, completeAt });
  };
  return reply.send(await withBody(deps, budget, request, take, refuseLargeWrapped));
}

/** Tells the library to send here, and to send no measurements of itself. */
function librarySettings(key: string, { host, protocol }: FastifyRequest): object {
  return {
    integrations: { 'Segment.io': { apiKey: key, apiHost: `${host}/v1`, protocol, unbundledIntegrations: [] } },
    metrics: { sampleRate: 0 },
    plan: {},
    edgeFunction: {},
    analyticsNextEnabled: true,
    middlewareSettings: {},
    enabledMiddleware: {},
    remotePlugins: [],
  };
}

/** Tells the library of RudderStack that its source is enabled, and to send no reports of itself. */
function sourceConfig(key: string): object {
  const none = { enabled: false };
  return {
    source: {
      id: key,
      name: key,
      writeKey: key,
      enabled: true,
      workspaceId: key,
      config: { statsCollection: { errors: none, metrics: none } },
      destinations: [],
    },
  };
}
