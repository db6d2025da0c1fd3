/** HTTP servers by role; start.ts provides the dependencies. */
import { serveDocs } from '../api/docs.ts';
import { apiRoutes, type ApiDeps } from '../api/routes.ts';
import { createProjectKeys, type ProjectKeys } from '../../wire/capture/project-key.ts';
import { registerCapture } from '../../wire/capture/routes.ts';
import { createAuth, defaultWrongKeyWindows, type Auth } from '../http/auth.ts';
import type { OidcSignIn } from '../sign-in/oidc-sign-in.ts';
import { policiesOf } from '../http/policies.ts';
import { createRateLimiter, parseRateLimit, type RateLimiter, type SharedCounts } from '../http/rate-limit.ts';
import { buildServer, type ServerDeps } from '../http/server.ts';
import { getProjectByToken } from '../../stores/metadata/projects.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import { limitDefaultsOf } from './project-limit-defaults.ts';
import { serviceRetentionOf } from './service-retention.ts';
import { importDirs } from './import-dirs.ts';
import { createMessageReader } from './segment-messages.ts';
import type { Inject } from './plugin-api.ts';
import type { PluginRuntime } from './plugin-runtime.ts';
import { openOidcSignIn } from './oidc.ts';
import { isCluster } from '../config/event-log-kind.ts';
import type { ServiceDeps } from './service-deps.ts';
import type { PreviewAnswer } from '../api/preview-answer.ts';
import type { PreflightOrder, PreviewOrder } from '../api/import-runs-deps.ts';
import { runPreviewProcess, type PreviewProcessDeps } from './preview-process.ts';
import { repeat } from '../../base/repeat.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { addCallerCounts, pruneCallerCounts } from '../../stores/metadata/rate-counts.ts';
import type { WarnLog } from '../telemetry/log.ts';

/** Access control, shared by all roles, with caches that are invalidated together. */
export interface Access {
  readonly auth: Auth;
  readonly projects: ProjectKeys;
  /** Per personal key. `undefined` for no limit. */
  readonly rateLimiter: RateLimiter | undefined;
  /** `undefined` if no provider is set up. */
  readonly oidc: OidcSignIn | undefined;
}

export type Served = Pick<ServerDeps, 'api' | 'registerCapture'>;

/**
 * `parts` receives what must be stopped.
 * @throws ConfigError when the settings of the rate limit or of the sign-in cannot be read
 */
export function createAccess({ db, clock, log, settings }: ServiceDeps, parts: AsyncDisposableStack): Access {
  const windows = parseRateLimit(settings.apiRateLimit);
  const requests = createRateLimiter(windows, clock);
  const wrongKeys = createRateLimiter(defaultWrongKeyWindows, clock);
  if (isCluster(settings)) shareLimits({ db, log }, { requests, wrong_keys: wrongKeys }, parts);
  const auth = createAuth({ db, clock, log, wrongKeys, sessionPolicy: policiesOf(settings).sessionPolicy });
  return {
    auth,
    oidc: openOidcSignIn(settings, { db, clock, forgetUser: auth.forgetUser }, parts),
    projects: createProjectKeys({ clock, findProject: async (token) => (await getProjectByToken(db, token))?.id }),
    rateLimiter: windows.length === 0 ? undefined : requests,
  };
}

export function captureRole(deps: ServiceDeps, { projects }: Access): Pick<Served, 'registerCapture'> {
  return { registerCapture: (app) => registerCapture(app, { ...deps, projects, createMessageReader }) };
}

export function apiRole(
  deps: ServiceDeps & Pick<ApiDeps, 'status'>,
  { auth, projects, rateLimiter, oidc }: Access,
  plugins: PluginRuntime,
): Pick<Served, 'api'> {
  const { settings, clock, staging } = deps;
  const routes = apiRoutes({
    ...deps,
    registry: builtInRegistry,
    packages: { sandbox: plugins.sandbox, fetch: plugins.packageFetch, npmRegistry: settings.npmRegistry },
    trials: {
      ...plugins.steps,
      fetch: plugins.fetch,
      geoip: plugins.geoip,
      taskMs: settings.sandboxTaskMs,
      now: () => clock.now(),
    },
    imports: {
      staging,
      preflight: preflightInProcess(deps),
      preview: previewInProcess(deps),
      uploadsDir: importDirs(settings).uploads,
      uploadBytesMax: settings.importUploadBytesMax,
      uploadsBytesMax: settings.importUploadsBytesMax,
    },
    eventBytesMax: settings.captureEventBytesMax,
    agreementMode: settings.historicalAgreement,
    serviceRetention: serviceRetentionOf(settings),
    limitDefaults: limitDefaultsOf(settings),
    ...policiesOf(settings),
    oidcName: oidc?.name,
    forgetKey: auth.forgetKey,
    forgetUser: auth.forgetUser,
    forgetProject: (projectId) => {
      auth.forgetProject(projectId);
      projects.forget(projectId);
    },
  });
  return { api: { routes, rateLimiter, oidc, registerPages: serveDocs } };
}

/** The API for plugins of this process, without a listener; built on first use. */
export function createUnlistenedApi(deps: () => ServerDeps, parts: AsyncDisposableStack): Inject {
  let built: ReturnType<typeof buildServer> | undefined;
  parts.defer(() => built?.close());
  return (request) => (built ??= buildServer(deps())).inject(request);
}

/** Maximum length of a source's name in messages. */
const shownCharsMax = 200;

/** Returns previews for the API, each in a separate process. */
export function previewInProcess(
  deps: PreviewProcessDeps,
): (order: PreviewOrder, signal: AbortSignal) => Promise<PreviewAnswer> {
  return async ({ source, ...order }, signal) => {
    const { paths, path } = order.settings;
    const shown = String(paths ?? path ?? source.name).slice(0, shownCharsMax);
    return await runPreviewProcess(deps, { what: 'preview', order: { ...order, slug: source.slug }, shown }, signal);
  };
}

/** Returns preflights for the API, each in a separate process. */
function preflightInProcess(
  deps: PreviewProcessDeps,
): (order: PreflightOrder, signal: AbortSignal) => Promise<PreviewAnswer> {
  return async (order, signal) =>
    await runPreviewProcess(
      deps,
      { what: 'preflight', order, shown: `the source of config ${order.configId}` },
      signal,
    );
}

const mergeMs = 1000;
const pruneMs = 600_000;

/**
 * Limits callers across processes. Each process counts in memory, so that a request needs no query, and once a second all processes
 * add their counts up in the database: beyond its limit, a caller gets at most what it sends to the other processes within that
 * second. `limiters` by their name across processes. `parts` receives what must be stopped.
 */
function shareLimits(
  { db, log }: { readonly db: Metadata; readonly log: WarnLog },
  limiters: Readonly<Record<string, SharedCounts>>,
  parts: AsyncDisposableStack,
): void {
  const stop = new AbortController();
  const onTrouble = (err: unknown): void =>
    log.warn({ err }, 'failed to share rate-limit counts; limits apply per process until it succeeds');
  const loops = [
    repeat(mergeMs, () => mergeCounts(db, limiters), { signal: stop.signal, onTrouble }),
    repeat(pruneMs, () => pruneCallerCounts(db), { signal: stop.signal, onTrouble }),
  ];
  parts.defer(async () => {
    stop.abort();
    await Promise.all(loops);
  });
}

/** Publishes the counts since the last time, and adds those of other processes. */
export async function mergeCounts(db: Metadata, limiters: Readonly<Record<string, SharedCounts>>): Promise<void> {
  for (const [scope, limiter] of Object.entries(limiters)) {
    const counts = limiter.unpublished();
    if (counts.length === 0) continue;
    for (const total of await addCallerCounts(db, scope, counts)) limiter.learn(total);
  }
}
