/** The whole service: its components are started in this order and stopped in reverse. */
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { systemClock } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import { ScanSender } from '../../wire/batch/scan-relay.ts';
import { createBudgets } from '../../wire/capture/budgets.ts';
import { createIngest } from '../../wire/capture/create-ingest.ts';
import { createAgreements, type Agreements } from '../../wire/capture/agreements.ts';
import { createSpreads } from '../../wire/capture/spreads.ts';
import { findApprovedAgreement } from '../../stores/metadata/find-approved-agreement.ts';
import { ConfigError } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import { historicalTotal } from '../../stores/events/reads.ts';
import { LiveHub } from '../../pipeline/live/hub.ts';
import type { HealthChecks } from '../http/health.ts';
import { policiesOf } from '../http/policies.ts';
import { siteUrlOf } from '../http/request-origin.ts';
import { readOidcSettings } from '../sign-in/oidc-settings.ts';
import { buildServer } from '../http/server.ts';
import { startStartingServer, type StartingServer } from '../http/starting-server.ts';
import { firstLoginToken } from '../../stores/metadata/bootstrap.ts';
import { readSpread } from '../../stores/metadata/spread-project.ts';
import { restoreProblem } from '../../stores/backup/restore-state.ts';
import { clearDeadBackup } from './backup-scratch.ts';
import { moveProblem } from '../../stores/move/move-state.ts';
import { healthChecks } from './health.ts';
import { createSharedBudgets } from './historical-limits.ts';
import { apiRole, captureRole, createAccess, createUnlistenedApi, type Served } from './http.ts';
import { startJobsRole } from './jobs-role.ts';
import { startLiveRelay } from './live-relay.ts';
import { startProjectLimits } from './project-limits.ts';
import { createCountedIngest } from './project-rates.ts';
import { startPlugins, type StartedPlugins } from './plugins.ts';
import { isCluster } from '../config/event-log-kind.ts';
import { rolesProblem, storesProblem, type Role } from './roles.ts';
import type { ServiceDeps } from './service-deps.ts';
import { startStatus } from './status.ts';
import { createTracedIngest, openTracing, startMetricExports } from './telemetry.ts';
import { startStores, type Stores, type StoresDeps } from './start-stores.ts';
import { createWatchedIngest } from './watched-ingest.ts';
import { hostThread, type ThreadHost } from './thread-host.ts';
import { liveAnswers, watchedBy } from './live-thread.ts';
import { answersOf } from './main-thread.ts';
import { claimDataDir, prepareDataDir, saveAddress } from './data-dir.ts';
import { createDatabaseClock } from '../../stores/metadata/database-clock.ts';
import { createEmail } from '../../queue/notices/send/email.ts';
import { createSlack } from '../../queue/notices/send/slack.ts';
import { createWebhook } from '../../queue/notices/send/webhook.ts';
import { sendNotices } from '../../queue/notices/sender.ts';
import { watchConditions } from '../../queue/notices/watch-conditions.ts';
import { fetchLoadedLate } from '../../plugins/outbound/load-late.ts';
import { outboundTrust } from './plugin-environment.ts';
import type { StatusSource } from '../api/status.ts';
import type { Tracing } from '../telemetry/tracing.ts';

export interface StartedService {
  readonly url: string;
  /** Prints how to sign in: at the first start, and again until a user has signed in. */
  readonly firstStart?: { readonly projectKey: string; readonly loginUrl: string };
}

export interface Service {
  /** Resolves once requests are answered. */
  start(): Promise<StartedService>;
  /** Refuses new requests, finishes current ones, stores the pipeline's current window, and closes everything. */
  close(): Promise<void>;
}

/** Opens nothing yet. Throws ConfigError when the settings contradict each other. */
export function createService(settings: Settings, telemetry: Pick<ServiceDeps, 'log' | 'metrics'>): Service {
  const { dataDir } = settings;
  const problem = rolesProblem(settings) ?? storesProblem(settings) ?? moveProblem(dataDir) ?? restoreProblem(dataDir);
  if (problem !== undefined) throw new ConfigError([problem]);
  readOidcSettings(settings);
  return createParts(settings, telemetry);
}

/** Creates a service that only stores what waits in the log, for a data directory that accepts no more events. */
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
      // Readiness ends first, so that no requests are routed here.
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
  // With Kafka, several processes of one machine may share it.
  if (!isCluster(settings)) parts.use(claimDataDir(settings.dataDir));
  clearBackup(settings.dataDir, log, parts);
  const processId = newId();
  const startingServer = await startProbes(settings, parts);
  const { stores, first, health } = await startStores(base, parts);
  const live = new LiveHub();
  // With Kafka, another process may have the slot.
  const scans = isCluster(settings) ? undefined : new ScanSender();
  const tracing = await startTelemetry(base, parts);
  const limited = await startProjectLimits({ ...base, db: stores.db, processId }, parts);
  const spreads = createSpreads({ clock, find: (projectId) => readSpread(stores.db, projectId) });
  const toLog = createIngest({ ...base, log: stores.eventLog, spreads, ...limited, ...(scans && { scans }) });
  const counted = createCountedIngest(createTracedIngest(toLog, tracing));
  const ingest = createWatchedIngest(counted.ingest, { ...base, live });
  const agreements = createServiceAgreements(base, stores);
  const deps: ServiceDeps = { ...base, ...stores, ingest, scans, live, agreements };
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
  // Its routes are built first, so that it can answer as soon as it takes over the port.
  await server.ready();
  startingServer?.handOverTo(server.server);
  await server.listen({ host: settings.host, port: settings.port });
  // Last: loading their modules would delay all of the above; events accepted in the meantime wait in the log.
  pipeline?.start();
  imports?.start();
  // Only now: a start that fails on an occupied port must not use up the link.
  const loginToken = has('api')
    ? await firstLoginToken(stores.db, {
        created: first.created,
        now: clock.now(),
        policy: policiesOf(settings).sessionPolicy,
      })
    : undefined;
  const started = describeStart(settings, server, first.project?.apiToken, loginToken);
  if (has('api')) saveAddress(settings.dataDir, started.url);
  return started;
}

/** Starts what is exported over OTLP. `parts` receives what must be stopped. */
async function startTelemetry(base: StoresDeps, parts: AsyncDisposableStack): Promise<Tracing | undefined> {
  const { settings, log } = base;
  const tracing = await openTracing(settings, log);
  if (tracing !== undefined) parts.defer(() => tracing.close());
  await startMetricExports(settings, base, parts);
  return tracing;
}

/** Answers probes during the start, unless the system chooses the port, which is unknown until the end. */
async function startProbes({ host, port }: Settings, parts: AsyncDisposableStack): Promise<StartingServer | undefined> {
  if (port === 0) return undefined;
  const server = await startStartingServer({ host, port });
  parts.defer(() => server.close());
  return server;
}

/** Runs during the start: there may be many files, and nothing waits for their removal. */
function clearBackup(dataDir: string, log: StoresDeps['log'], parts: AsyncDisposableStack): void {
  const clearing = clearDeadBackup(dataDir).catch((err: unknown) =>
    log.warn({ err, dataDir }, 'failed to remove remains of a killed backup; the next backup retries'),
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

/** Returns the pipeline's thread, not started yet. `parts` receives what must be stopped. */
function startPipelineRole(deps: ServiceDeps, plugins: StartedPlugins, parts: AsyncDisposableStack): ThreadHost {
  const { settings, shared, scans, metrics, log, live } = deps;
  // After its death, uncommitted records are read from the log again: nothing is lost or stored twice.
  const pipeline = hostThread(
    { name: 'pipeline', entry: new URL('./pipeline-thread.ts', import.meta.url), data: { settings, shared }, scans },
    {
      metrics,
      log,
      answers: { ...answersOf(plugins.mainThread), ...liveAnswers(live) },
      onReady: watchedBy(live, log),
    },
  );
  parts.defer(() => pipeline.stop());
  return pipeline;
}

/** Only the status of a receiver's response is read. */
const answerBytesMax = 65_536;

/** Starts notifications: watches conditions and sends the outbox. `parts` receives what must be stopped. */
function startNotices(
  { settings, db, metrics, log, clock, status }: ServiceDeps & { readonly status: StatusSource },
  parts: AsyncDisposableStack,
): void {
  const stop = new AbortController();
  const common = { db, log, clock: createDatabaseClock(db), signal: stop.signal };
  const { outboundTimeoutMs: timeoutMs } = settings;
  const fetch = fetchLoadedLate({ ...outboundTrust(settings), timeoutMs, bytesMax: answerBytesMax });
  const watching = watchConditions({
    ...common,
    lanes: status.lanes,
    disk: status.keepsData ? status.disk : undefined,
    limits: {
      deadLettersMax: settings.noticeDeadLetters,
      violationsMax: settings.noticePlanViolations,
      lagSecondsMax: settings.noticeLagSeconds,
    },
  });
  const sending = sendNotices({
    ...common,
    siteUrl: siteUrlOf(settings),
    carriers: {
      webhook: createWebhook(fetch, () => clock.now()),
      slack: createSlack(fetch),
      email: createEmail(settings),
    },
    onAttempt: (kind, outcome) => metrics.count('millrace_notices_total', { kind, outcome }),
  });
  parts.defer(async () => {
    stop.abort();
    await Promise.all([watching, sending]);
    await fetch.close();
  });
}
