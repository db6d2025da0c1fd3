/** The whole service: its parts are started in this order, and stopped in the reverse one. */
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { systemClock } from '../base/clock.ts';
import { createDoor } from '../capture/create-door.ts';
import { createAgreements } from '../capture/agreements.ts';
import { findApprovedAgreement } from '../capture/find-approved-agreement.ts';
import { ConfigError } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import { lanes } from '../eventlog/eventlog.ts';
import type { EventStore } from '../eventstore/eventstore.ts';
import { historicalTotal } from '../eventstore/reads.ts';
import { siteUrlOf } from '../http/request-origin.ts';
import { buildServer } from '../http/server.ts';
import { firstLoginToken } from '../metadata/bootstrap.ts';
import type { Metadata } from '../metadata/database.ts';
import { readCursor } from '../pipeline/cursors.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { startBacklogAges, type BacklogAges } from './backlog-ages.ts';
import { prepareDataDir } from './data-dir.ts';
import { healthChecks } from './health.ts';
import { apiRole, captureRole, createAccess, type Served } from './http.ts';
import { openImportStaging } from './import-dirs.ts';
import { startMetadata } from './metadata.ts';
import { startPlugins } from './plugins.ts';
import { rolesProblem, type Role } from './roles.ts';
import type { ServiceDeps } from './service-deps.ts';
import { openEventLog, openEventStore, startEmbeddedStore, type EmbeddedStore, type EventLog } from './stores.ts';
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

async function startParts(base: Base, parts: AsyncDisposableStack): Promise<StartedService> {
  const { settings, log, clock } = base;
  prepareDataDir(settings.dataDir, log);
  const starting = [startMetadata(base, parts), startEventStore(base, parts)] as const;
  // When one fails the other must have ended too: what starts after everything was taken down would be left running.
  await Promise.allSettled(starting);
  const [{ db, first, health }, { store, embedded }] = await Promise.all(starting);
  const { eventLog, ages } = await startEventLog({ ...base, db }, parts);
  const deps: ServiceDeps = {
    ...base,
    db,
    store,
    eventLog,
    staging: await openImportStaging(settings),
    shared: { eventLog: eventLog.shared, embedded },
    door: createDoor({ ...base, log: eventLog }),
    agreements: createAgreements({
      mode: settings.historicalAgreement,
      clock,
      findApproved: (projectId) => findApprovedAgreement(db, projectId),
      historicalTotal: (projectId) => historicalTotal(store, projectId),
    }),
  };
  const plugins = startPlugins(deps, parts);
  const access = createAccess(deps);
  const has = (role: Role): boolean => settings.roles.includes(role);
  let served: Served = { routes: [] };
  let worker: Worker | undefined;
  if (has('capture')) served = { ...served, ...captureRole(deps, access) };
  if (has('worker')) worker = startWorker(deps, plugins, parts);
  if (has('api')) served = { ...served, ...apiRole(deps, access, plugins.runtime) };
  const checked = { ...deps, ages, metadata: health, plugins: plugins.runtime, worker };
  const server = buildServer({ ...deps, ...access, ...served, health: healthChecks(checked) });
  plugins.serveApi((request) => server.inject(request));
  parts.defer(() => server.close());
  await server.listen({ host: settings.host, port: settings.port });
  // Last: loading its modules would hold up all of the above; what is accepted meanwhile waits in the log.
  worker?.run();
  // Only now: a start that fails on a taken port must not use up the link.
  const loginToken = await firstLoginToken(db, { created: first.created, now: clock.now() });
  return describeStart(settings, server, first.project?.apiToken, loginToken);
}

type Base = Pick<ServiceDeps, 'settings' | 'log' | 'metrics' | 'clock'>;

async function startEventStore(
  { settings, log, metrics }: Base,
  parts: AsyncDisposableStack,
): Promise<{ readonly store: EventStore; readonly embedded: EmbeddedStore | undefined }> {
  const onRestart = (reason: string): void => {
    metrics.count('millrace_store_restarts_total', {});
    log.warn({ reason }, 'the embedded event store is started again');
  };
  const embedded = settings.clickhouseUrl === '' ? await startEmbeddedStore(settings, { log, onRestart }) : undefined;
  parts.defer(() => embedded?.close());
  const store = await openEventStore(settings, embedded);
  parts.defer(() => store.close());
  if (embedded === undefined) return { store, embedded };
  const { socketPath, spoolDir } = embedded;
  return { store, embedded: { socketPath, spoolDir } };
}

async function startEventLog(
  { settings, log, metrics, db }: Base & { readonly db: Metadata },
  parts: AsyncDisposableStack,
): Promise<{ readonly eventLog: EventLog; readonly ages: BacklogAges }> {
  const [live, historical] = await Promise.all([readCursor(db, 'live'), readCursor(db, 'historical')]);
  const eventLog = await openEventLog(settings, {
    committed: { live: live.seq, historical: historical.seq },
    onProblem: (sentence) => log.error({ component: 'event_log' }, sentence),
  });
  parts.defer(() => eventLog.close());
  const ages = await startBacklogAges(eventLog.shared, parts);
  metrics.beforeText(() => gaugeBacklog(metrics, eventLog, ages));
  return { eventLog, ages };
}

function gaugeBacklog(metrics: Metrics, eventLog: EventLog, ages: BacklogAges): void {
  for (const lane of lanes) {
    const { events, bytes } = eventLog.backlog(lane);
    metrics.set('millrace_buffer_events', { lane }, events);
    metrics.set('millrace_buffer_bytes', { lane }, bytes);
    metrics.set('millrace_buffer_oldest_seconds', { lane }, ages.seconds(lane));
  }
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
