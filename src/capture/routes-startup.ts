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
  for (const url of [...slashed('/flags'), ...slashed('/decide')]) {
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
  // Servers poll for definitions under the newer or the older name.
  for (const url of [...slashed('/flags/definitions'), ...slashed('/api/feature_flag/local_evaluation')]) {
    get(app, url, async (request, reply) => {
      await deps.projects.projectOf(queryOf(request).get('token') ?? '');
      return answerDefinitions(request, reply);
    });
  }
  for (const url of slashed('/api/projects/:project_id/feature_flags/:key/remote_config')) {
    // The payload of a flag that is not there.
    get(app, url, async (_request, reply) => reply.type('application/json; charset=utf-8').send('null'));
  }
  for (const url of slashed('/api/surveys')) {
    get(app, url, async (request, reply) => {
      await deps.projects.projectOf(queryOf(request).get('token') ?? '');
      return reply.send({ surveys: [], survey_config: null });
    });
  }
  registerConfig(app, deps);
}

const noFlags = { flags: {}, featureFlags: {}, featureFlagPayloads: {}, errorsWhileComputingFlags: false } as const;

/** A path that browsers ask for, with the answer to their preflight. */
function get(
  app: FastifyInstance,
  url: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void {
  app.get(url, handler);
  app.options(url, async (_request, reply) => reply.code(204).header('allow', 'GET, HEAD, OPTIONS').send());
}

function slashed(path: string): string[] {
  return [path, `${path}/`];
}

/**
 * The keys that libraries read from their remote configuration; everything optional is off. The key `surveys` is left out:
 * whatever its value but null, the browser library goes to fetch its code for surveys.
 */
const remoteConfig = {
  supportedCompression: ['gzip', 'gzip-js'],
  analytics: { endpoint: '/i/v0/e/' },
  hasFeatureFlags: false,
  autocapture_opt_out: false,
  capturePerformance: false,
  captureDeadClicks: false,
  heatmaps: false,
  sessionRecording: false,
  errorTracking: { autocaptureExceptions: false },
  elementsChainAsString: true,
  defaultIdentifiedOnly: true,
  siteApps: [],
  toolbarParams: {},
  isAuthenticated: false,
} as const;

function registerConfig(app: FastifyInstance, deps: CaptureDeps): void {
  const configOf = (path: string, type: string, body: (token: string) => unknown): void =>
    get(app, path, async (request, reply) => {
      const { token } = request.params as { readonly token: string };
      await knownOr404(deps, token);
      return reply.header('cache-control', 'public, max-age=300').type(type).send(body(token));
    });
  for (const url of slashed('/array/:token/config')) {
    configOf(url, 'application/json; charset=utf-8', (token) => ({ token, ...remoteConfig }));
  }
  configOf('/array/:token/config.js', 'application/javascript; charset=utf-8', configScript);
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
