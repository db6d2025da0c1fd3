import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { decodeBody, refuseLargeWrapped } from './decode.ts';
import { requireKnownKey } from './known-key.ts';
import type { BodyBudget } from './read-body.ts';
import { remoteConfig } from './remote-config.ts';
import { get, slashed } from './routes-get.ts';
import { hintsOf, queryOf, withBody } from './routes-request.ts';
import { scanBody, type CaptureDeps } from './take-request.ts';
import { tokenOf } from './tokens.ts';

/**
 * What client libraries ask for when they start: enough to let them go on and send events. Feature flags, surveys and
 * recordings are not this service's work, so every answer says that there are none.
 */
export function registerStartup(app: FastifyInstance, deps: CaptureDeps, budget: BodyBudget): void {
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
    // The payload of a flag that is not there.
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

/** Flags of a person: none. */
export const flagsPaths = ['/flags', '/decide'] as const;
/** Servers poll for definitions under the newer or the older name. */
export const definitionsPaths = ['/flags/definitions', '/api/feature_flag/local_evaluation'] as const;

/** What else the browser library asks for, some of it only on pages that turn it on. */
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

/** A flags request names a person and its groups; nothing in it is large. */
const flagsBytesMax = 1024 * 1024;

/** The key of a flags request: in its JSON body under the names that events use, else in the query. */
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
