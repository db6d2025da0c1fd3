/** Status of the service for the API. */
import { statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { StatusSource } from '../api/status.ts';
import type { LaneStatus, ServiceStatus } from '../../wire/contract/status.ts';
import type { Lane } from '../../log/eventlog.ts';
import { runChecks, type HealthChecks, type HealthResult } from '../http/health.ts';
import type { GaugeName, CounterName, MetricsRegistry } from '../telemetry/metrics.ts';
import type { BacklogAges } from './backlog-ages.ts';
import type { ProjectRates } from './project-rates.ts';
import { programVersion } from '../../base/program-version.ts';
import { isCluster } from '../config/event-log-kind.ts';
import { type Role } from './roles.ts';
import type { ServiceDeps } from './service-deps.ts';
import { repeat } from '../../base/repeat.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { schemaVersion } from '../../stores/metadata/migrate.ts';
import { listReports, pruneReports, removeReport, writeReport } from '../../stores/metadata/service-processes.ts';
import type { WarnLog } from '../telemetry/log.ts';

export interface StatusDeps extends Pick<ServiceDeps, 'settings' | 'metrics' | 'clock' | 'eventLog' | 'db' | 'log'> {
  /** Id of this process. */
  readonly processId: string;
  readonly ages: BacklogAges;
  readonly rates: ProjectRates;
  /** Available once every component exists. */
  readonly checks: () => HealthChecks;
}

const component = 'millrace_component_errors_total';
const received = 'millrace_component_received_events_total';
const sent = 'millrace_component_sent_events_total';

/** `parts` receives what must be stopped. */
export function startStatus(deps: StatusDeps, parts: AsyncDisposableStack): StatusSource {
  const { settings, clock, rates } = deps;
  const counters = startCounterRates(deps.metrics, [component, received, sent], parts);
  const startedAt = new Date(clock.now()).toISOString();
  const own = async (): Promise<ProcessReport> => ({
    name: `${hostname()}:${settings.port}`,
    roles: settings.roles,
    version: programVersion(),
    schema: schemaVersion,
    startedAt,
    lanes: await ownLanes(deps, counters),
    received: Object.fromEntries(rates.all()),
    parts: await runChecks(deps.checks()),
  });
  const others = isCluster(settings) ? startProcessReports({ ...deps, own }, parts) : async () => [];
  return {
    lanes: async () =>
      laneFigures(deps, [await ownLanes(deps, counters), ...reportsOf(await others()).map(({ lanes: of }) => of)]),
    received: async (projectId) => {
      const all = [
        rates.of(projectId),
        ...reportsOf(await others()).flatMap(({ received: of }) => of[projectId] ?? []),
      ];
      return { live: sumOf(all, ({ live }) => live), historical: sumOf(all, ({ historical }) => historical) };
    },
    parts: async () => ({ ...(await runChecks(deps.checks())), ...partsElsewhere(await others()) }),
    processes: async () => {
      const { name, roles, version } = await own();
      const mine = { name, roles: [...roles], version, started_at: startedAt, silent_seconds: 0 };
      return [mine, ...(await others()).map(shownProcess)];
    },
    keepsData: !isCluster(settings),
    disk: () => diskOf(settings.dataDir),
    process: () => processOf(deps, counters, startedAt),
  };
}

/** Reports of live processes; figures of dead ones are outdated. */
function reportsOf(others: readonly ReceivedReport[]): readonly ProcessReport[] {
  return others.filter(({ silentMs }) => silentMs <= silentMsMax).map(({ report }) => report);
}

/** Failing components of other processes under distinct names, and silent processes. */
function partsElsewhere(others: readonly ReceivedReport[]): Record<string, HealthResult> {
  const found = others.flatMap(({ silentMs, report: { name, roles, parts } }): [string, HealthResult][] => {
    if (silentMs <= silentMsMax) {
      const unwell = Object.entries(parts).filter(([, { ok }]) => !ok);
      return unwell.map(([part, result]) => [`${part} of ${name}`, result]);
    }
    const detail = `The process ${name} (${roles.join(', ')}) has not reported for ${Math.round(silentMs / 1000)} s.`;
    return [[`process ${name}`, { ok: false, optional: true, detail }]];
  });
  return Object.fromEntries(found);
}

function shownProcess({ silentMs, report }: ReceivedReport): ServiceStatus['processes'][number] {
  const { name, roles, version, startedAt } = report;
  return { name, roles: [...roles], version, started_at: startedAt, silent_seconds: Math.round(silentMs / 1000) };
}

async function ownLanes(
  { metrics, ages }: StatusDeps,
  counters: CounterRates,
): Promise<Readonly<Record<Lane, OwnLane>>> {
  const [came, went, lags] = await Promise.all([
    counters.of(received),
    counters.of(sent),
    metrics.values('millrace_source_lag_seconds'),
  ]);
  const figures = (lane: Lane): OwnLane => ({
    oldest_seconds: ages.seconds(lane),
    lag_seconds: lags.find(({ labels }) => labels['lane'] === lane)?.value ?? 0,
    received_per_second: perSecond(came, { component: 'capture', lane }),
    stored_per_second: perSecond(went, { component: 'pipeline', lane }),
  });
  return { live: figures('live'), historical: figures('historical') };
}

/** Sums of all processes. */
function laneFigures(
  { eventLog, settings }: StatusDeps,
  reports: readonly Readonly<Record<Lane, OwnLane>>[],
): Record<Lane, LaneStatus> {
  const figures = (lane: Lane): LaneStatus => {
    const { events, bytes } = eventLog.backlog(lane);
    const all = reports.map((report) => report[lane]);
    return {
      waiting_events: events,
      waiting_bytes: bytes,
      oldest_seconds: Math.max(...all.map((each) => each.oldest_seconds)),
      lag_seconds: Math.max(...all.map((each) => each.lag_seconds)),
      is_full: events >= settings.backlogEventsMax || bytes >= settings.backlogBytesMax,
      received_per_second: sumOf(all, (each) => each.received_per_second),
      stored_per_second: sumOf(all, (each) => each.stored_per_second),
    };
  };
  return { live: figures('live'), historical: figures('historical') };
}

/** Rounded to a tenth. */
function sumOf<T>(all: readonly T[], figure: (each: T) => number): number {
  return Math.round(all.reduce((sum, each) => sum + figure(each), 0) * 10) / 10;
}

function perSecond(rates: readonly CounterRate[], wanted: Readonly<Record<string, string>>): number {
  const fits = ({ labels }: CounterRate): boolean =>
    Object.entries(wanted).every(([name, value]) => labels[name] === value);
  const lastMinute = rates.filter(fits).reduce((sum, rate) => sum + rate.lastMinute, 0);
  return Math.round(lastMinute / 6) / 10;
}

async function diskOf(dataDir: string): Promise<ServiceStatus['disk']> {
  const { bsize, bavail, blocks } = await statfs(dataDir);
  return { free_bytes: bavail * bsize, total_bytes: blocks * bsize };
}

async function processOf(
  { settings, metrics, clock }: StatusDeps,
  counters: CounterRates,
  startedAt: string,
): ReturnType<StatusSource['process']> {
  const [errors, [restarts]] = await Promise.all([
    counters.of(component),
    metrics.values('millrace_store_restarts_total'),
  ]);
  return {
    version: programVersion(),
    node: process.version,
    started_at: startedAt,
    uptime_seconds: Math.round((clock.now() - Date.parse(startedAt)) / 1000),
    memory_bytes: process.memoryUsage.rss(),
    errors: errors
      .map(({ labels, total, lastMinute }) => ({
        component: labels['component'] ?? '',
        error_type: labels['error_type'] ?? '',
        last_minute: lastMinute,
        total,
      }))
      .sort((one, other) => other.last_minute - one.last_minute || other.total - one.total),
    store: { kind: settings.clickhouseUrl === '' ? 'embedded' : 'clickhouse', restarts: restarts?.value ?? 0 },
    metadata: settings.databaseUrl === '' ? 'sqlite' : 'postgresql',
    plugin_processes: await pluginProcesses(metrics),
  };
}

async function pluginProcesses(metrics: StatusDeps['metrics']): Promise<ServiceStatus['plugin_processes']> {
  const of = async (name: GaugeName): Promise<ReadonlyMap<string, number>> =>
    new Map((await metrics.values(name)).map(({ labels, value }) => [labels['thread'] ?? '', value]));
  const [instances, memory, restarts] = await Promise.all([
    of('millrace_sandbox_instances'),
    of('millrace_sandbox_memory_bytes'),
    of('millrace_sandbox_restarts'),
  ]);
  return [...instances].map(([thread, count]) => ({
    thread,
    instances: count,
    memory_bytes: memory.get(thread) ?? 0,
    restarts: restarts.get(thread) ?? 0,
  }));
}

interface CounterRate {
  readonly labels: Readonly<Record<string, string>>;
  /** Since the start of the service. */
  readonly total: number;
  /** Increase within the last minute. */
  readonly lastMinute: number;
}

interface CounterRates {
  of(name: CounterName): Promise<readonly CounterRate[]>;
}

const pollMs = 5_000;
const pollsMax = 12;

/** Samples counters for a minute, so that counting in hot paths needs nothing more. */
export function startCounterRates(
  metrics: Pick<MetricsRegistry, 'values'>,
  names: readonly CounterName[],
  parts: AsyncDisposableStack,
): CounterRates {
  const before = new Map<CounterName, ReadonlyMap<string, number>[]>(names.map((name) => [name, []]));
  const sample = async (): Promise<void> => {
    for (const [name, samples] of before) {
      samples.push(new Map((await metrics.values(name)).map(({ labels, value }) => [keyOf(labels), value])));
      if (samples.length > pollsMax) samples.shift();
    }
  };
  const timer = setInterval(() => void sample(), pollMs).unref();
  parts.defer(() => clearInterval(timer));
  return {
    of: async (name) => {
      const samples = before.get(name) ?? [];
      // Less than a minute after the start, everything is new.
      const oldest = samples.length < pollsMax ? undefined : samples[0];
      const values = await metrics.values(name);
      return values.map(({ labels, value }) => ({
        labels,
        total: value,
        lastMinute: value - (oldest?.get(keyOf(labels)) ?? 0),
      }));
    },
  };
}

function keyOf(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(labels).sort());
}

type OwnLane = Pick<LaneStatus, 'oldest_seconds' | 'lag_seconds' | 'received_per_second' | 'stored_per_second'>;

export interface ProcessReport {
  /** `host:port`. */
  readonly name: string;
  readonly roles: readonly Role[];
  readonly version: string;
  /** Version of the metadata schema that the program was written for; migrations read it. */
  readonly schema: number;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly lanes: Readonly<Record<Lane, OwnLane>>;
  /** Events of each project accepted per second. */
  readonly received: Readonly<Record<string, Readonly<Record<Lane, number>>>>;
  readonly parts: Readonly<Record<string, HealthResult>>;
}

interface ReceivedReport {
  readonly id: string;
  readonly report: ProcessReport;
  readonly silentMs: number;
}

/** Version of the report's format; reports with another version are ignored. */
const form = 1;
const reportMs = 2000;
/** After this time without a report, a process is removed. */
const forgetMs = 60_000;
const pruneMs = 30_000;
/** After this time without a report, a process no longer counts. */
const silentMsMax = 10_000;

/** Counts the other processes that accept events. */
export async function countCapturing(db: Metadata, processId: string): Promise<number> {
  const others = (await listReports(db)).filter(({ id, seenMsAgo }) => id !== processId && seenMsAgo <= silentMsMax);
  return others.filter(({ report }) => {
    const read = JSON.parse(report) as { readonly report?: Partial<ProcessReport> };
    return read.report?.roles?.includes('capture') === true;
  }).length;
}

interface ProcessReportsDeps {
  readonly db: Metadata;
  readonly log: WarnLog;
  readonly processId: string;
  readonly own: () => Promise<ProcessReport>;
}

/**
 * Publishes a report of this process every two seconds and returns those of all other processes of the cluster. Reports contain figures
 * that only their process knows. `parts` receives what must be stopped.
 */
export function startProcessReports(
  { db, log, processId, own }: ProcessReportsDeps,
  parts: AsyncDisposableStack,
): () => Promise<readonly ReceivedReport[]> {
  const stop = new AbortController();
  const onTrouble = (err: unknown): void => log.warn({ err }, 'failed to publish process heartbeat; retrying');
  const deps = { signal: stop.signal, onTrouble };
  const write = async (): Promise<void> => writeReport(db, processId, JSON.stringify({ form, report: await own() }));
  const loops = [repeat(reportMs, write, deps), repeat(pruneMs, () => pruneReports(db, forgetMs), deps)];
  parts.defer(async () => {
    stop.abort();
    await Promise.all(loops);
    await removeReport(db, processId).catch(onTrouble);
  });
  return async () => {
    const stored = await listReports(db);
    return stored.flatMap(({ id, seenMsAgo: silentMs, report: text }) => {
      const read = JSON.parse(text) as { readonly form: number; readonly report: ProcessReport };
      return id === processId || read.form !== form ? [] : [{ id, silentMs, report: read.report }];
    });
  };
}
