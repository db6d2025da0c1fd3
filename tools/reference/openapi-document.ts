import { buildOpenApi } from '../../src/server/api/openapi.ts';
import { describedCapture } from '../../src/server/api/openapi-capture.ts';
import { apiRoutes } from '../../src/server/api/routes.ts';
import { loadSettings } from '../../src/server/config/load.ts';
import { limitDefaultsOf } from '../../src/server/service/project-limit-defaults.ts';
import { serviceRetentionOf } from '../../src/server/service/service-retention.ts';
import { systemClock } from '../../src/base/clock.ts';
import { LiveHub } from '../../src/pipeline/live/hub.ts';
import { openSqlite } from '../../src/stores/metadata/sqlite.ts';
import { builtInRegistry } from '../../src/plugins/built-in/registry.ts';

/** The OpenAPI description of capture and of the management API, the latter from the very route tables that serve it. */
export function openApiDocument(): string {
  const unused = async (): Promise<never> => {
    throw new Error('expected no work to be done while the API is only described');
  };
  const routes = apiRoutes({
    // Opened by the first query, which never comes.
    db: openSqlite('never-opened.sqlite'),
    store: {
      insertBatch: unused,
      deleteRun: unused,
      erase: unused,
      removeExpired: unused,
      query: unused,
      waitForReplicas: unused,
      health: unused,
      close: unused,
    },
    ingest: { accept: unused },
    clock: systemClock,
    live: new LiveHub(),
    status: {
      lanes: unused,
      received: async () => ({ live: 0, historical: 0 }),
      processes: async () => [],
      keepsData: true,
      parts: unused,
      disk: unused,
      process: unused,
    },
    registry: builtInRegistry,
    packages: { fetch: unused, npmRegistry: '', sandbox: { describe: unused } },
    trials: {
      findPlugin: () => undefined,
      sandbox: { describe: unused, open: unused, close: unused },
      loadProgram: unused,
      fetch: unused,
      geoip: { geoip: undefined, geoipProblem: '' },
      taskMs: 0,
      now: () => 0,
    },
    eventBytesMax: 0,
    agreementMode: 'optional',
    serviceRetention: serviceRetentionOf(loadSettings({ env: {} }).settings),
    limitDefaults: limitDefaultsOf(loadSettings({ env: {} }).settings),
    forgetKey: () => {},
    forgetUser: () => {},
    forgetProject: () => {},
  });
  // As served: the description does not describe itself.
  const described = routes.filter(({ path }) => path !== '/api/openapi.json');
  return `${JSON.stringify(buildOpenApi(described, describedCapture), null, 2)}\n`;
}
