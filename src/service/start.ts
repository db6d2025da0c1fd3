/** The whole service: its parts are started in this order, and stopped in the reverse one. */
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { systemClock } from '../base/clock.ts';
import { createDoor } from '../capture/create-door.ts';
import { createAgreements, type Agreements } from '../capture/agreements.ts';
import { findApprovedAgreement } from '../metadata/find-approved-agreement.ts';
import { ConfigError } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import { historicalTotal } from '../eventstore/reads.ts';
import { LiveHub } from '../live/hub.ts';
import type { HealthChecks } from '../http/health.ts';
import { siteUrlOf } from '../http/request-origin.ts';
import { buildServer } from '../http/server.ts';
import { firstLoginToken } from '../metadata/bootstrap.ts';
import { prepareDataDir } from './data-dir.ts';
import { healthChecks } from './health.ts';
import { apiRole, captureRole, createAccess, type Served } from './http.ts';
import { createCountedDoor } from './project-rates.ts';
import { startPlugins } from './plugins.ts';
import { rolesProblem, type Role } from './roles.ts';
import type { ServiceDeps } from './service-deps.ts';
import { startStatus } from './status.ts';
import { startStores, type Stores, type StoresDeps } from './start-stores.ts';
import { createWatchedDoor } from './watched-door.ts';
import { startWorker, type Worker } from './worker.ts';

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
  const problem = rolesProblem(settings);
  if (problem !== undefined) throw new ConfigError([problem]);
  const parts = new AsyncDisposableStack();
  return {
    start: async () => {
      try {
        return await startParts({ ...telemetry, settings, clock: systemClock }, parts);
      } catch (error) {
        await parts.disposeAsync();
        throw error;
      }
    },
    close: () => parts.disposeAsync(),
  };
}

async function startParts(base: StoresDeps, parts: AsyncDisposableStack): Promise<StartedService> {
  const { settings, log, clock } = base;
  prepareDataDir(settings.dataDir, log);
  const { stores, first, health } = await startStores(base, parts);
  const live = new LiveHub();
  const counted = createCountedDoor(createDoor({ ...base, log: stores.eventLog }));
  const door = createWatchedDoor(counted.door, { ...base, live });
  const deps: ServiceDeps = { ...base, ...stores, door, live, agreements: createServiceAgreements(base, stores) };
  const plugins = startPlugins(deps, parts);
  const access = createAccess(deps);
  const has = (role: Role): boolean => settings.roles.includes(role);
  let checks: HealthChecks = {};
  const status = startStatus({ ...deps, ...health, rates: counted.rates, checks: () => checks }, parts);
  let served: Served = { routes: [] };
  let worker: Worker | undefined;
  if (has('capture')) served = { ...served, ...captureRole(deps, access) };
  if (has('worker')) worker = startWorker(deps, plugins, parts);
  if (has('api')) served = { ...served, ...apiRole({ ...deps, status }, access, plugins.runtime) };
  checks = healthChecks({ ...deps, ...health, plugins: plugins.runtime, worker });
  const server = buildServer({ ...deps, ...access, ...served, health: checks });
  plugins.serveApi((request) => server.inject(request));
  parts.defer(() => server.close());
  await server.listen({ host: settings.host, port: settings.port });
  // Last: loading its modules would hold up all of the above; what is accepted meanwhile waits in the log.
  worker?.run();
  // Only now: a start that fails on a taken port must not use up the link.
  const loginToken = await firstLoginToken(stores.db, { created: first.created, now: clock.now() });
  return describeStart(settings, server, first.project?.apiToken, loginToken);
}

function createServiceAgreements({ settings, clock }: StoresDeps, { db, store }: Stores): Agreements {
  return createAgreements({
    mode: settings.historicalAgreement,
    clock,
    findApproved: (projectId) => findApprovedAgreement(db, projectId),
    historicalTotal: (projectId) => historicalTotal(store, projectId),
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
