/** What the HTTP server answers, by role; start.ts takes what this process has. */
import { serveDocs } from '../api/docs.ts';
import { apiRoutes, type ApiDeps } from '../api/routes.ts';
import { createProjectKeys, type ProjectKeys } from '../capture/project-key.ts';
import { registerCapture } from '../capture/routes.ts';
import { createAuth, type Auth } from '../http/auth.ts';
import type { ServerDeps } from '../http/server.ts';
import { getProjectByToken } from '../metadata/projects.ts';
import { builtInRegistry } from '../plugins/built-in/registry.ts';
import { importDirs } from './import-dirs.ts';
import { createImportPreflight } from './import-preflight.ts';
import { createImportPreview } from './import-preview.ts';
import type { PluginRuntime } from './plugin-runtime.ts';
import type { ServiceDeps } from './service-deps.ts';

/** Who may come in; all roles remember keys for a while, and forget them together. */
export interface Access {
  readonly auth: Auth;
  readonly projects: ProjectKeys;
}

export type Served = Pick<ServerDeps, 'routes' | 'registerCapture' | 'registerPages'>;

export function createAccess({ db, clock, log }: ServiceDeps): Access {
  return {
    auth: createAuth({ db, clock, log }),
    projects: createProjectKeys({ clock, findProject: async (token) => (await getProjectByToken(db, token))?.id }),
  };
}

export function captureRole(deps: ServiceDeps, { projects }: Access): Pick<Served, 'registerCapture'> {
  return { registerCapture: (app) => registerCapture(app, { ...deps, projects }) };
}

export function apiRole(
  deps: ServiceDeps & Pick<ApiDeps, 'status'>,
  { auth, projects }: Access,
  plugins: PluginRuntime,
): Omit<Served, 'capture'> {
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
      preflight: createImportPreflight({ ...deps, place: () => plugins }),
      preview: createImportPreview({ ...deps, place: () => plugins }),
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
  return { routes, registerPages: serveDocs };
}
