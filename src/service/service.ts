/** The composition root: with pipeline-thread.ts the only place that knows which adapter stands behind which port. */
import { mkdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { serveDocs } from '../api/docs.ts';
import { apiRoutes } from '../api/routes.ts';
import { systemClock } from '../base/clock.ts';
import { createDoor } from '../capture/accept.ts';
import type { Door } from '../batch/door.ts';
import { createAgreements, type Agreements } from '../capture/agreements.ts';
import { findApprovedAgreement } from '../capture/find-approved.ts';
import { createProjectKeys } from '../capture/project-key.ts';
import { registerCapture } from '../capture/routes.ts';
import { ConfigError } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import { lanes } from '../eventlog/eventlog.ts';
import { openSqliteLogWriter, type SqliteLogWriter } from '../eventlog/sqlite/sqlite.ts';
import { startChdb } from '../eventstore/chdb/supervisor.ts';
import { connectChdb } from '../eventstore/chdb/chdb.ts';
import { connectClickhouse } from '../eventstore/clickhouse.ts';
import type { EventStore } from '../eventstore/eventstore.ts';
import { historicalTotal } from '../eventstore/reads.ts';
import { createAuth } from '../http/auth.ts';
import type { HealthResult } from '../http/health.ts';
import { siteUrlOf } from '../http/request-origin.ts';
import { buildServer } from '../http/server.ts';
import { bootstrap, firstLoginToken, type Bootstrapped } from '../metadata/bootstrap.ts';
import { claimDatabase, type DatabaseClaim } from '../metadata/claim-database.ts';
import type { Metadata } from '../metadata/database.ts';
import { migrate } from '../metadata/migrate.ts';
import { openMetadata } from '../metadata/open.ts';
import { getProjectByToken, type Project } from '../metadata/projects.ts';
import { deleteExpiredSessions } from '../metadata/sessions.ts';
import { answersOf } from './pipeline-calls.ts';
import { hostPipeline } from './pipeline-host.ts';
import type { PipelineThreadData } from './pipeline-thread.ts';
import { readCursor } from '../pipeline/cursors.ts';
import type { PluginRuntime } from './plugin-runtime.ts';
import { builtInPlugins, builtInRegistry } from '../plugins/built-in/registry.ts';
import { syncPlugins } from '../plugins/built-in/sync-plugins.ts';
import { rolesProblem } from './roles.ts';
import { prepareImports, type Imports } from './start-imports.ts';
import { startJobs, startPlugins } from './start-plugins.ts';
import type { Log } from '../telemetry/log.ts';
import { createMetrics, type Metrics, type MetricsRegistry } from '../telemetry/metrics.ts';

export interface StartedApp {
  readonly url: string;
  /** What a person needs to get in: at the first start, and again until somebody is in. */
  readonly firstStart?: { readonly projectKey: string; readonly loginUrl: string };
}

export interface App {
  /** Resolves once requests are answered. */
  start(): Promise<StartedApp>;
  /** Refuses new requests, finishes those under way, stores what the pipeline holds, closes everything. */
  close(): Promise<void>;
}

/** The whole service in this process. Throws ConfigError when the settings contradict each other. */
export async function createApp(settings: Settings, log: Log): Promise<App> {
  const problem = rolesProblem(settings);
  if (problem !== undefined) throw new ConfigError([problem]);
  // Stops in the reverse order of starting.
  const parts = new AsyncDisposableStack();
  return {
    start: async () => {
      try {
        return await startParts(settings, log, parts);
      } catch (error) {
        await parts.disposeAsync();
        throw error;
      }
    },
    close: () => parts.disposeAsync(),
  };
}

async function startParts(settings: Settings, log: Log, parts: AsyncDisposableStack): Promise<StartedApp> {
  mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 });
  const metrics = createMetrics();
  const starting = [startMetadata(settings, log, parts), startEventStore(settings, { log, metrics }, parts)] as const;
  // When one fails the other must have ended too: what starts after everything was taken down would be left running.
  await Promise.allSettled(starting);
  const [metadata, events] = await Promise.all(starting);
  const { db, first } = metadata;
  const eventLog = await startEventLog(settings, db, log, parts);
  metrics.beforeText(() => gaugeBacklog(metrics, eventLog));
  const threadData = { settings, logDir: logDir(settings), shared: eventLog.shared, store: events.embedded };
  const door = createDoor({ log: eventLog, settings, metrics });
  const { plugins, mainThread, serveApi } = startPlugins({ settings, log, metrics, db, door }, parts);
  const thread = hostPipeline(threadData, { metrics, log, answers: answersOf(mainThread) });
  parts.defer(() => thread.stop());
  startJobs({ db, door, log, plugins }, parts);
  const agreements = startAgreements(settings, db, events.store);
  const { shared } = eventLog;
  const importsDeps = { settings, log, metrics, db, door, agreements, clock: systemClock, shared };
  const imports = await prepareImports({ ...importsDeps, store: events.embedded });
  parts.defer(() => imports.thread.stop());
  const health = {
    metadata: () => metadataHealth(metadata),
    event_store: () => events.store.health(),
    pipeline: async () => {
      const ok = thread.running();
      return { ok, detail: ok ? '' : 'The pipeline is being started.' };
    },
    imports: imports.health,
  };
  const httpParts = { settings, log, metrics, db, store: events.store, door, health, plugins, agreements, imports };
  const server = buildHttp(httpParts);
  serveApi((request) => server.inject(request));
  parts.defer(() => server.close());
  await server.listen({ host: settings.host, port: settings.port });
  // Last: loading its modules would hold up all of the above; what is accepted meanwhile waits in the log.
  thread.start();
  imports.thread.start();
  // Only now: a start that fails on a taken port must not use up the link.
  const loginToken = await firstLoginToken(db, { created: first.created, now: systemClock.now() });
  return describeStart(settings, server, { project: first.project, loginToken });
}

interface StartedMetadata {
  readonly db: Metadata;
  readonly first: Bootstrapped;
  /** Of PostgreSQL; a data directory is claimed by the event log in it. */
  readonly claim: DatabaseClaim | undefined;
}

/** Opens, migrates and fills the metadata store. */
async function startMetadata(settings: Settings, log: Log, parts: AsyncDisposableStack): Promise<StartedMetadata> {
  const { db, dialect } = openMetadata(settings, log);
  parts.defer(() => db.destroy());
  const claim = dialect === 'postgres' ? await claimDatabase(db, { log }) : undefined;
  parts.defer(() => claim?.release());
  await migrate(db, dialect);
  const now = systemClock.now();
  const first = await bootstrap(db, {
    now,
    personalApiKey: settings.bootstrapPersonalApiKey || undefined,
    projectApiKey: settings.bootstrapProjectApiKey || undefined,
  });
  await syncPlugins(db, builtInPlugins, now);
  await deleteExpiredSessions(db, now);
  return { db, first, claim };
}

async function metadataHealth({ db, claim }: StartedMetadata): Promise<HealthResult> {
  if (claim?.held() === false) {
    const detail = 'The connection that keeps other services from this database is lost; it is being made again.';
    return { ok: false, detail };
  }
  const rows = await db.selectFrom('config_revisions').select('id').execute();
  return { ok: rows.length > 0 };
}

interface StartedStore {
  readonly store: EventStore;
  readonly embedded: PipelineThreadData['store'];
}

async function startEventStore(
  settings: Settings,
  { log, metrics }: { log: Log; metrics: Metrics },
  parts: AsyncDisposableStack,
): Promise<StartedStore> {
  if (settings.clickhouseUrl !== '') {
    const store = await connectClickhouse(settings.clickhouseUrl, { queryTimeoutMs: settings.queryTimeoutMs });
    parts.defer(() => store.close());
    return { store, embedded: undefined };
  }
  const spoolDir = join(settings.dataDir, 'spool');
  const supervisor = await startChdb({
    dir: join(settings.dataDir, 'events'),
    spoolDir,
    memoryBytesMax: settings.storeMemoryBytesMax,
    queryTimeoutMs: settings.queryTimeoutMs,
    log,
    onRestart: (reason) => {
      metrics.count('millrace_store_restarts_total', {});
      log.warn({ reason }, 'the embedded event store is started again');
    },
  });
  parts.defer(() => supervisor.close());
  const store = connectChdb(supervisor.socketPath, spoolDir);
  parts.defer(() => store.close());
  return { store, embedded: { socketPath: supervisor.socketPath, spoolDir } };
}

async function startEventLog(
  settings: Settings,
  db: Metadata,
  log: Log,
  parts: AsyncDisposableStack,
): Promise<SqliteLogWriter> {
  const [live, historical] = await Promise.all([readCursor(db, 'live'), readCursor(db, 'historical')]);
  const eventLog = await openSqliteLogWriter(logDir(settings), {
    committed: { live: live.seq, historical: historical.seq },
    onProblem: (sentence) => log.error({ component: 'event_log' }, sentence),
  });
  parts.defer(() => eventLog.close());
  return eventLog;
}

function gaugeBacklog(metrics: Metrics, eventLog: SqliteLogWriter): void {
  for (const lane of lanes) {
    const { events, bytes } = eventLog.backlog(lane);
    metrics.set('millrace_buffer_events', { lane }, events);
    metrics.set('millrace_buffer_bytes', { lane }, bytes);
  }
}

function logDir(settings: Settings): string {
  return join(settings.dataDir, 'log');
}

interface HttpParts {
  readonly settings: Settings;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  readonly db: Metadata;
  readonly store: EventStore;
  readonly door: Door;
  readonly health: Parameters<typeof buildServer>[0]['health'];
  readonly plugins: PluginRuntime;
  readonly agreements: Agreements;
  readonly imports: Imports;
}

function startAgreements(settings: Settings, db: Metadata, store: EventStore): Agreements {
  return createAgreements({
    mode: settings.historicalAgreement,
    clock: systemClock,
    findApproved: (projectId) => findApprovedAgreement(db, projectId),
    historicalTotal: (projectId) => historicalTotal(store, projectId),
  });
}

function buildHttp(parts: HttpParts): FastifyInstance {
  const { settings, log, metrics, db, store, door, health, plugins, agreements } = parts;
  const clock = systemClock;
  const auth = createAuth({ db, clock, log });
  const projects = createProjectKeys({ clock, findProject: async (token) => (await getProjectByToken(db, token))?.id });
  const routes = apiRoutes({
    db,
    store,
    door,
    clock,
    registry: builtInRegistry,
    packages: { sandbox: plugins.sandbox, fetch: plugins.packageFetch, npmRegistry: settings.npmRegistry },
    trials: {
      ...plugins.steps,
      fetch: plugins.fetch,
      geoip: plugins.geoip,
      taskMs: settings.sandboxTaskMs,
      now: () => clock.now(),
    },
    imports: parts.imports.places,
    eventBytesMax: settings.captureEventBytesMax,
    forgetKey: auth.forgetKey,
    forgetProject: (projectId) => {
      auth.forgetProject(projectId);
      projects.forget(projectId);
    },
  });
  return buildServer({
    db,
    clock,
    log,
    metrics,
    settings,
    auth,
    routes,
    health,
    registerCapture: (app) => registerCapture(app, { door, projects, agreements, settings, metrics, clock, log }),
    registerPages: serveDocs,
  });
}

function describeStart(
  settings: Settings,
  server: FastifyInstance,
  { project, loginToken }: { readonly project: Project | null; readonly loginToken: string | undefined },
): StartedApp {
  const { port } = server.server.address() as AddressInfo;
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  const url = siteUrlOf(settings) || `http://${host}:${port}`;
  if (loginToken === undefined || project === null) return { url };
  return { url, firstStart: { projectKey: project.apiToken, loginUrl: `${url}/login?token=${loginToken}` } };
}
