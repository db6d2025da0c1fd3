/** The whole service: its parts are started in this order, and stopped in the reverse one. */
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { systemClock } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import { ScanSender } from '../../wire/batch/scan-relay.ts';
import { createBudgets } from '../../wire/capture/budgets.ts';
import { createDoor } from '../../wire/capture/create-door.ts';
import { createAgreements, type Agreements } from '../../wire/capture/agreements.ts';
import { createSpreads } from '../../wire/capture/spreads.ts';
import { findApprovedAgreement } from '../../stores/metadata/find-approved-agreement.ts';
import { ConfigError } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import { historicalTotal } from '../../stores/events/reads.ts';
import { LiveHub } from '../../pipeline/live/hub.ts';
import type { HealthChecks } from '../http/health.ts';
import { siteUrlOf } from '../http/request-origin.ts';
import { buildServer } from '../http/server.ts';
import { startStartingServer, type StartingServer } from '../http/starting-server.ts';
import { firstLoginToken } from '../../stores/metadata/bootstrap.ts';
import { readSpread } from '../../stores/metadata/spread-project.ts';
import { restoreProblem } from '../../stores/backup/restore-state.ts';
import { clearDeadBackup } from './backup-scratch.ts';
import { claimDataDir, prepareDataDir } from './data-dir.ts';
import { moveProblem } from '../../stores/move/move-state.ts';
import { healthChecks } from './health.ts';
import { apiRole, captureRole, createAccess, createUnlistenedApi, type Served } from './http.ts';
import { startJobsRole } from './jobs-role.ts';
import { startLiveRelay } from './live-relay.ts';
import { startNotices } from './notices.ts';
import { startPipelineRole } from './pipeline-role.ts';
import { createCountedDoor } from './project-rates.ts';
import { startPlugins } from './plugins.ts';
import { isCluster, rolesProblem, storesProblem, type Role } from './roles.ts';
import type { ServiceDeps } from './service-deps.ts';
import { startStatus } from './status.ts';
import { startStores, type Stores, type StoresDeps } from './start-stores.ts';
import { createSharedBudgets } from './shared-budgets.ts';
import { createWatchedDoor } from './watched-door.ts';
import type { ThreadHost } from './thread-host.ts';

export interface StartedService {
  readonly url: string;
  /** What a person needs to get in: at the first start, and again until somebody is in. */
  readonly firstStart?: { readonly projectKey: string; readonly loginUrl: string };
}

export interface Service {
  /** Resolves once requests are answered. */
  start(): Promise<StartedService>;
  /** Refuses new requests, finishes those under way, stores what the pipeline holds, closes everything. */
  close(): Promise<void>;
}

/** Opens nothing yet. Throws ConfigError when the settings contradict each other. */
export function createService(settings: Settings, telemetry: Pick<ServiceDeps, 'log' | 'metrics'>): Service {
  const { dataDir } = settings;
  const problem = rolesProblem(settings) ?? storesProblem(settings) ?? moveProblem(dataDir) ?? restoreProblem(dataDir);
  if (problem !== undefined) throw new ConfigError([problem]);
  return createParts(settings, telemetry);
}

/** For a data directory that takes nothing any more: what waits in its log is stored, and that is all. */
export function createPipelineAlone(settings: Settings, telemetry: Pick<ServiceDeps, 'log' | 'metrics'>): Service {
  return createParts({ ...settings, roles: ['pipeline'] }, telemetry);
}

function createParts(settings: Settings, telemetry: Pick<ServiceDeps, 'log' | 'metrics'>): Service {
  const parts = new AsyncDisposableStack();
  const stopping = new AbortController();
  let isListening = false;
  return {
    start: async () => {
      try {
        const started = await startParts({ ...telemetry, settings, clock: systemClock }, parts, stopping.signal);
        isListening = true;
        return started;
      } catch (error) {
        await parts.disposeAsync();
        throw error;
      }
    },
    close: async () => {
      // Readiness goes first, so that nobody is sent here any more.
      stopping.abort();
      if (isListening && settings.drainMs > 0) await delay(settings.drainMs);
      await parts.disposeAsync();
    },
  };
}

async function startParts(
  base: StoresDeps,
  parts: AsyncDisposableStack,
  stopping: AbortSignal,
): Promise<StartedService> {
  const { settings, log, clock } = base;
  prepareDataDir(settings.dataDir, log);
  // On Kafka several processes of one machine may have it in common.
  if (!isCluster(settings)) parts.use(claimDataDir(settings.dataDir));
  clearBackup(settings.dataDir, log, parts);
  const processId = newId();
  const startingServer = await startProbes(settings, parts);
  const { stores, first, health } = await startStores(base, parts);
  const live = new LiveHub();
  const spreads = createSpreads({ clock, find: (projectId) => readSpread(stores.db, projectId) });
  // On Kafka another process may have the slot.
  const scans = isCluster(settings) ? undefined : new ScanSender();
  const counted = createCountedDoor(createDoor({ ...base, log: stores.eventLog, spreads, ...(scans && { scans }) }));
  const door = createWatchedDoor(counted.door, { ...base, live });
  const deps: ServiceDeps = {
    ...base,
    ...stores,
    door,
    scans,
    live,
    agreements: createServiceAgreements(base, stores),
  };
  if (isCluster(settings)) startLiveRelay({ ...deps, processId }, parts);
  const plugins = startPlugins(deps, parts);
  const access = createAccess(deps, parts);
  const has = (role: Role): boolean => settings.roles.includes(role);
  let checks: HealthChecks = {};
  const status = startStatus({ ...deps, ...health, processId, rates: counted.rates, checks: () => checks }, parts);
  const api = () => apiRole({ ...deps, status }, access, plugins.runtime);
  let served: Served = {};
  let pipeline: ThreadHost | undefined;
  let imports: ThreadHost | undefined;
  if (has('capture')) served = { ...served, ...captureRole(deps, access) };
  if (has('pipeline')) pipeline = startPipelineRole(deps, plugins, parts);
  if (has('jobs')) {
    imports = startJobsRole(deps, plugins, parts);
    startNotices({ ...deps, status }, parts);
  }
  if (has('api')) served = { ...served, ...api() };
  checks = healthChecks({ ...deps, ...health, plugins: plugins.runtime, pipeline, imports, stopping });
  const server = buildServer({ ...deps, ...access, ...served, health: checks });
  const ownApi = createUnlistenedApi(() => ({ ...deps, ...access, ...api(), health: {} }), parts);
  plugins.serveApi(has('api') ? (request) => server.inject(request) : ownApi);
  parts.defer(() => server.close());
  // Its routes are built first: from then on it can answer what comes in on the port.
  await server.ready();
  startingServer?.handOverTo(server.server);
  await server.listen({ host: settings.host, port: settings.port });
  // Last: loading its modules would hold up all of the above; what is accepted meanwhile waits in the log.
  pipeline?.start();
  imports?.start();
  // Only now: a start that fails on a taken port must not use up the link.
  const loginToken = has('api')
    ? await firstLoginToken(stores.db, { created: first.created, now: clock.now() })
    : undefined;
  return describeStart(settings, server, first.project?.apiToken, loginToken);
}

/** Where the port is one that the system chooses, it is not known yet where to ask. */
async function startProbes({ host, port }: Settings, parts: AsyncDisposableStack): Promise<StartingServer | undefined> {
  if (port === 0) return undefined;
  const server = await startStartingServer({ host, port });
  parts.defer(() => server.close());
  return server;
}

/** Beside the start: it may be many files, and nothing waits for them. */
function clearBackup(dataDir: string, log: StoresDeps['log'], parts: AsyncDisposableStack): void {
  const clearing = clearDeadBackup(dataDir).catch((err: unknown) =>
    log.warn({ err, dataDir }, 'what a killed backup has left could not be removed; the next backup tries again'),
  );
  parts.defer(() => clearing);
}

function createServiceAgreements({ settings, clock, log }: StoresDeps, { db, store }: Stores): Agreements {
  const total = (projectId: number): Promise<number> => historicalTotal(store, projectId);
  return createAgreements({
    mode: settings.historicalAgreement,
    clock,
    findApproved: (projectId) => findApprovedAgreement(db, projectId),
    budgets: isCluster(settings)
      ? createSharedBudgets({ db, log, total })
      : createBudgets({ clock, historicalTotal: total }),
  });
}

function describeStart(
  settings: Settings,
  server: FastifyInstance,
  projectKey: string | undefined,
  loginToken: string | undefined,
): StartedService {
  const { port } = server.server.address() as AddressInfo;
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  const url = siteUrlOf(settings) || `http://${host}:${port}`;
  if (loginToken === undefined || projectKey === undefined) return { url };
  return { url, firstStart: { projectKey, loginUrl: `${url}/login?token=${loginToken}` } };
}
