import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../contract/errors.ts';
import { decodeBody } from './decode.ts';
import type { BodyBudget } from './read-body.ts';
import { hintsOf, queryOf, withBody } from './routes-request.ts';
import { scanBody, type CaptureDeps } from './take-request.ts';
import { tokenOf } from './tokens.ts';

/**
 * What client libraries ask for when they start: enough to let them go on and send events. Feature flags, surveys and
 * recordings are not this service's work, so every answer says that there are none.
 */
export function registerStartup(app: FastifyInstance, deps: CaptureDeps, budget: BodyBudget): void {
  const emptyFlags = (requestId: string) => ({
    flags: {},
    featureFlags: {},
    featureFlagPayloads: {},
    errorsWhileComputingFlags: false,
    requestId,
  });
  for (const url of [...slashed('/flags'), ...slashed('/decide')]) {
    app.route({
      method: ['GET', 'POST'],
      url,
      handler: async (request) => {
        await deps.projects.projectOf(await tokenOfFlags(deps, budget, request));
        return { ...remoteConfig, ...emptyFlags(request.id) };
      },
    });
    app.options(url, async () => ({ status: 'Ok' }));
  }
  for (const url of slashed('/flags/definitions')) {
    app.get(url, async (request, reply) => {
      await deps.projects.projectOf(queryOf(request).get('token') ?? '');
      return answerDefinitions(request, reply);
    });
  }
  for (const url of slashed('/api/surveys')) {
    app.get(url, async (request, reply) => {
      await deps.projects.projectOf(queryOf(request).get('token') ?? '');
      return reply.send({ surveys: [], survey_config: null });
    });
  }
  registerConfig(app, deps);
}

function slashed(path: string): string[] {
  return [path, `${path}/`];
}

/** The keys that libraries read from their remote configuration; everything optional is off. */
const remoteConfig = {
  supportedCompression: ['gzip', 'gzip-js'],
  analytics: { endpoint: '/i/v0/e/' },
  hasFeatureFlags: false,
  autocapture_opt_out: false,
  capturePerformance: false,
  captureDeadClicks: false,
  heatmaps: false,
  surveys: false,
  sessionRecording: false,
  errorTracking: { autocaptureExceptions: false },
  elementsChainAsString: true,
  defaultIdentifiedOnly: true,
  siteApps: [],
  toolbarParams: {},
  isAuthenticated: false,
} as const;

function registerConfig(app: FastifyInstance, deps: CaptureDeps): void {
  for (const url of ['/array/:token/config', '/array/:token/config/']) {
    app.get<{ Params: { token: string } }>(url, async (request, reply) => {
      await knownOr404(deps, request.params.token);
      return reply
        .header('cache-control', 'public, max-age=300')
        .send({ token: request.params.token, ...remoteConfig });
    });
  }
  app.get<{ Params: { token: string } }>('/array/:token/config.js', async (request, reply) => {
    const { token } = request.params;
    await knownOr404(deps, token);
    return reply
      .header('cache-control', 'public, max-age=300')
      .type('application/javascript; charset=utf-8')
      .send(configScript(token));
  });
}

function configScript(token: string): string {
  const text = (value: unknown): string => JSON.stringify(value).replaceAll('<', String.raw`\u003c`);
  return `(function (w) {
  w._POSTHOG_REMOTE_CONFIG = w._POSTHOG_REMOTE_CONFIG || {};
  w._POSTHOG_REMOTE_CONFIG[${text(token)}] = { config: ${text({ token, ...remoteConfig })}, siteApps: [] };
})(window);
`;
}

async function knownOr404(deps: CaptureDeps, token: string): Promise<void> {
  try {
    await deps.projects.projectOf(token);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    throw new ApiError('not_found', 'There is no project with this project API key.', { cause: error });
  }
}

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
  return withBody(deps, budget, request, async (body) => {
    if (body.length === 0 && !query.get('data')) return inQuery ?? '';
    const limits = { inflatedBytesMax: flagsBytesMax };
    const { json } = decodeBody(body, { ...hintsOf(request, query), legacyPath: true }, limits);
    return tokenOf(scanBody(json, deps.settings));
  });
}
