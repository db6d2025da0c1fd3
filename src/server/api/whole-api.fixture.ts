import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { StoreUnavailableError } from '../../stores/events/eventstore.ts';
import { loadSettings } from '../config/load.ts';
import type { ApiRoute } from '../http/api-route.ts';
import { LiveHub } from '../../pipeline/live/hub.ts';
import type { PluginRegistry } from '../../plugins/plugin-registry.ts';
import { limitDefaultsOf } from '../service/project-limit-defaults.ts';
import { serviceRetentionOf } from '../service/service-retention.ts';
import { apiRoutes } from './routes.ts';

export interface WholeApi {
  readonly app: TestApp;
  readonly routes: ApiRoute[];
}

/** Every route of the service, for tests of all routes. The event store is down and no plugin can run. */
export async function startWholeApi(registry: PluginRegistry): Promise<WholeApi> {
  const down = async (): Promise<never> => {
    throw new StoreUnavailableError('expected no request to get this far');
  };
  let routes: ApiRoute[] = [];
  const app = await startTestApp((db, { auth: { forgetKey, forgetUser, forgetProject }, clock }) => {
    routes = apiRoutes({
      db,
      clock,
      live: new LiveHub(),
      status: {
        lanes: down,
        received: async () => ({ live: 0, historical: 0 }),
        processes: async () => [],
        keepsData: true,
        parts: down,
        disk: down,
        process: down,
      },
      registry,
      store: {
        insertBatch: down,
        deleteRun: down,
        erase: down,
        removeExpired: down,
        query: down,
        waitForReplicas: down,
        health: down,
        close: down,
      },
      ingest: { accept: down },
      packages: { fetch: down, npmRegistry: '', sandbox: { describe: down } },
      trials: {
        findPlugin: () => undefined,
        sandbox: { describe: down, open: down, close: down },
        loadProgram: down,
        fetch: down,
        geoip: { geoip: undefined, geoipProblem: '' },
        taskMs: 1000,
        now: () => clock.now(),
      },
      eventBytesMax: 1_000_000,
      agreementMode: 'optional',
      serviceRetention: serviceRetentionOf(loadSettings({ env: {} }).settings),
      limitDefaults: limitDefaultsOf(loadSettings({ env: {} }).settings),
      forgetKey,
      forgetUser,
      forgetProject,
    });
    return routes;
  });
  return { app, routes };
}
