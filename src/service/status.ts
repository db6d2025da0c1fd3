/** What the service knows of itself, for the API. */
import { readFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import type { StatusSource } from '../api/status.ts';
import type { LaneStatus, ServiceStatus } from '../contract/status.ts';
import { lanes, type Lane } from '../eventlog/eventlog.ts';
import { runChecks, type HealthChecks } from '../http/health.ts';
import type { GaugeName } from '../telemetry/metrics.ts';
import type { BacklogAges } from './backlog-ages.ts';
import { startCounterRates, type CounterRate, type CounterRates } from './counter-rates.ts';
import type { ProjectRates } from './project-rates.ts';
import type { ServiceDeps } from './service-deps.ts';

export interface StatusDeps extends Pick<ServiceDeps, 'settings' | 'metrics' | 'clock' | 'eventLog'> {
  readonly ages: BacklogAges;
  readonly rates: ProjectRates;
  /** Known only once every part is there. */
  readonly checks: () => HealthChecks;
}

const component = 'millrace_component_errors_total';
const received = 'millrace_component_received_events_total';
const sent = 'millrace_component_sent_events_total';

/** `parts` takes what has to be stopped. */
export function startStatus(deps: StatusDeps, parts: AsyncDisposableStack): StatusSource {
  const counters = startCounterRates(deps.metrics, [component, received, sent], parts);
  const startedAt = deps.clock.now();
  return {
    lanes: () => laneFigures(deps, counters),
    received: (projectId) => deps.rates.of(projectId),
    parts: () => runChecks(deps.checks()),
    disk: () => diskOf(deps.settings.dataDir),
    process: () => processOf(deps, counters, startedAt),
  };
}

async function laneFigures(
  { metrics, eventLog, settings, ages }: StatusDeps,
  counters: CounterRates,
): Promise<Record<Lane, LaneStatus>> {
  const [came, went, lags] = await Promise.all([
    counters.of(received),
    counters.of(sent),
    metrics.values('millrace_source_lag_seconds'),
  ]);
  const figures = (lane: Lane): LaneStatus => {
    const { events, bytes } = eventLog.backlog(lane);
    return {
      waiting_events: events,
      waiting_bytes: bytes,
      oldest_seconds: ages.seconds(lane),
      lag_seconds: lags.find(({ labels }) => labels['lane'] === lane)?.value ?? 0,
      is_full: events >= settings.backlogEventsMax || bytes >= settings.backlogBytesMax,
      received_per_second: perSecond(came, { component: 'capture', lane }),
      stored_per_second: perSecond(went, { component: 'pipeline', lane }),
    };
  };
  return Object.fromEntries(lanes.map((lane) => [lane, figures(lane)])) as Record<Lane, LaneStatus>;
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
  startedAt: number,
): ReturnType<StatusSource['process']> {
  const [errors, [restarts]] = await Promise.all([
    counters.of(component),
    metrics.values('millrace_store_restarts_total'),
  ]);
  return {
    version: versionOf(),
    node: process.version,
    started_at: new Date(startedAt).toISOString(),
    uptime_seconds: Math.round((clock.now() - startedAt) / 1000),
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

function versionOf(): string {
  const path = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}
