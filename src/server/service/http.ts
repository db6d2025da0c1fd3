/** What the HTTP server answers, by role; start.ts takes what this process has. */
import { serveDocs } from '../api/docs.ts';
import { apiRoutes, type ApiDeps } from '../api/routes.ts';
import { createProjectKeys, type ProjectKeys } from '../../wire/capture/project-key.ts';
import { registerCapture } from '../../wire/capture/routes.ts';
import { createAuth, defaultWrongKeyWindows, type Auth } from '../http/auth.ts';
import { createRateLimiter, parseRateLimit, type RateLimiter } from '../http/rate-limit.ts';
import { buildServer, type ServerDeps } from '../http/server.ts';
import { getProjectByToken } from '../../stores/metadata/projects.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import { importDirs } from './import-dirs.ts';
import { preflightInProcess, previewInProcess } from './import-looks.ts';
import type { Inject } from './plugin-api.ts';
import type { PluginRuntime } from './plugin-runtime.ts';
import { isCluster } from './roles.ts';
import type { ServiceDeps } from './service-deps.ts';
import { shareLimits } from './shared-limits.ts';

/** Who may come in; all roles remember keys for a while, and forget them together. */
export interface Access {
  readonly auth: Auth;
  readonly projects: ProjectKeys;
  /** Of requests per personal key; undefined: no limit. */
  readonly rateLimiter: RateLimiter | undefined;
}

export type Served = Pick<ServerDeps, 'api' | 'registerCapture'>;

/**
 * `parts` takes what has to be stopped.
 * @throws ConfigError when the rate limit setting cannot be read
 */
export function createAccess({ db, clock, log, settings }: ServiceDeps, parts: AsyncDisposableStack): Access {
  const windows = parseRateLimit(settings.apiRateLimit);
  const requests = createRateLimiter(windows, clock);
  const wrongKeys = createRateLimiter(defaultWrongKeyWindows, clock);
  if (isCluster(settings)) shareLimits({ db, log }, { requests, wrong_keys: wrongKeys }, parts);
  return {
    auth: createAuth({ db, clock, log, wrongKeys }),
    projects: createProjectKeys({ clock, findProject: async (token) => (await getProjectByToken(db, token))?.id }),
    rateLimiter: windows.length === 0 ? undefined : requests,
  };
}

export function captureRole(deps: ServiceDeps, { projects }: Access): Pick<Served, 'registerCapture'> {
  return { registerCapture: (app) => registerCapture(app, { ...deps, projects }) };
}

export function apiRole(
  deps: ServiceDeps & Pick<ApiDeps, 'status'>,
  { auth, projects, rateLimiter }: Access,
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
    forgetKey: auth.forgetKey,
    forgetUser: auth.forgetUser,
    forgetProject: (projectId) => {
      auth.forgetProject(projectId);
      projects.forget(projectId);
    },
  });
  return { api: { routes, rateLimiter, registerPages: serveDocs } };
}

/** The API for plugins of this process, where nobody may come in from outside; built when the first of them asks. */
export function createUnlistenedApi(deps: () => ServerDeps, parts: AsyncDisposableStack): Inject {
  let built: ReturnType<typeof buildServer> | undefined;
  parts.defer(() => built?.close());
  return (request) => (built ??= buildServer(deps())).inject(request);
}
