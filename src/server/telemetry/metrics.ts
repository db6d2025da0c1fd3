import { Counter, Gauge, Registry } from 'prom-client';
import { createHistogram, type Histogram, type HistogramPoint } from './histogram.ts';
import { createLabelCells, type LabelCells } from './label-cells.ts';

/**
 * Every metric, declared once. docs/reference/metrics.md is generated from this table. Names follow Vector's `component_*`;
 * `intentional` separates filters from losses.
 */
export const metricDefinitions = {
  millrace_component_received_events_total: {
    kind: 'counter',
    labels: ['component', 'lane'],
    help: 'Events received by a component.',
  },
  millrace_component_received_bytes_total: {
    kind: 'counter',
    labels: ['component', 'lane'],
    help: 'Body bytes received by a component, before decompression.',
  },
  millrace_component_sent_events_total: {
    kind: 'counter',
    labels: ['component', 'lane'],
    help: 'Events passed on by a component.',
  },
  millrace_component_discarded_events_total: {
    kind: 'counter',
    labels: ['component', 'lane', 'reason', 'intentional'],
    help: 'Events discarded by a component. intentional="true" if configured by a user.',
  },
  millrace_component_errors_total: {
    kind: 'counter',
    labels: ['component', 'error_type'],
    help: 'Errors by type.',
  },
  millrace_ingestion_warnings_total: {
    kind: 'counter',
    labels: ['type'],
    help: 'Ingestion warnings by type.',
  },
  millrace_limited_requests_total: {
    kind: 'counter',
    labels: ['lane', 'limit'],
    help: 'Requests refused because of a limit of their project. limit: events_per_second, bytes_per_second, backlog_bytes.',
  },
  millrace_limited_events_total: {
    kind: 'counter',
    labels: ['lane', 'limit'],
    help: 'Events in requests refused because of a limit of their project. Senders may send them again.',
  },
  millrace_projects_near_limit: {
    kind: 'gauge',
    labels: ['limit'],
    help: 'Projects that were offered at least four fifths of a limit per second in the last few seconds.',
  },
  millrace_tracking_plan_violations_total: {
    kind: 'counter',
    labels: ['policy'],
    help: 'Violations of tracking plans by events, by policy.',
  },
  millrace_buffer_events: { kind: 'gauge', labels: ['lane'], help: 'Events waiting in the event log.' },
  millrace_buffer_bytes: { kind: 'gauge', labels: ['lane'], help: 'Body bytes waiting in the event log.' },
  millrace_buffer_oldest_seconds: {
    kind: 'gauge',
    labels: ['lane'],
    help: 'Age of the oldest record in the event log, at most since the start of the service.',
  },
  millrace_log_slot_records: {
    kind: 'gauge',
    labels: ['lane', 'slot'],
    help: 'Records waiting in each slot of the event log. Every process reports the same value.',
  },
  millrace_slots_held: {
    kind: 'gauge',
    labels: [],
    help: 'Event log slots held by this process; 1 if it has the event log alone.',
  },
  millrace_slots_lost_total: {
    kind: 'counter',
    labels: [],
    help: 'Event log slots that this process lost when leases expired. Another process stores what it had not.',
  },
  millrace_profile_conflicts_total: {
    kind: 'counter',
    labels: [],
    help: 'Transactions retried because another slot of a spread project had changed the same persons or groups.',
  },
  millrace_log_append_seconds: {
    kind: 'histogram',
    labels: ['lane'],
    help: 'Duration of an append to an event log that processes share.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  millrace_log_read_records_total: {
    kind: 'counter',
    labels: ['lane'],
    help: 'Records that this process read from a shared event log.',
  },
  millrace_log_read_bytes_total: {
    kind: 'counter',
    labels: ['lane'],
    help: 'Body bytes that this process read from a shared event log.',
  },
  millrace_log_failures_total: {
    kind: 'counter',
    labels: ['operation'],
    help: 'Failed operations of a shared event log, most of which are retried. operation: append, backlog, read, wait, delete, offsets.',
  },
  millrace_source_lag_seconds: {
    kind: 'gauge',
    labels: ['lane'],
    help: 'Time from arrival to storage of the most recent window.',
  },
  millrace_ingest_ack_seconds: {
    kind: 'histogram',
    labels: ['lane'],
    help: 'Time from the last body byte to the response.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  },
  millrace_store_insert_seconds: {
    kind: 'histogram',
    labels: [],
    help: 'Duration of an insert into the event store.',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  millrace_log_lines_dropped_total: {
    kind: 'counter',
    labels: [],
    help: 'Log lines lost because stderr was not writable, e.g. on a full disk.',
  },
  millrace_retention_rows_total: {
    kind: 'counter',
    labels: ['how'],
    help: 'Expired rows removed from the event store. how="dropped" with whole parts, how="deleted" by rewriting parts.',
  },
  millrace_retention_passes_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: 'Nightly removals of expired events. outcome: done, failed.',
  },
  millrace_store_restarts_total: { kind: 'counter', labels: [], help: 'Restarts of the embedded event store.' },
  millrace_sandbox_instances: {
    kind: 'gauge',
    labels: ['thread'],
    help: 'Loaded plugin instances by the thread that uses their process.',
  },
  millrace_sandbox_memory_bytes: {
    kind: 'gauge',
    labels: ['thread'],
    help: 'Memory of the plugin process; 0 while it is not running.',
  },
  millrace_sandbox_restarts: {
    kind: 'gauge',
    labels: ['thread'],
    help: 'Plugin process restarts.',
  },
  millrace_import_runs: { kind: 'gauge', labels: ['state'], help: 'Import runs by state.' },
  millrace_import_runs_waiting: {
    kind: 'gauge',
    labels: [],
    help: 'Running imports that are waiting, e.g. for a rate limit, an unavailable server or disk space.',
  },
  millrace_import_stalled_seconds: {
    kind: 'gauge',
    labels: [],
    help: 'Time since the last progress of the longest stalled running import; 0 if none is running.',
  },
  millrace_tasks: {
    kind: 'gauge',
    labels: ['kind', 'state'],
    help: 'Background tasks by state. kind: erasure, export, event_replay.',
  },
  millrace_tasks_waiting: {
    kind: 'gauge',
    labels: ['kind'],
    help: 'Running background tasks that are waiting or retrying after an error.',
  },
  millrace_notices_total: {
    kind: 'counter',
    labels: ['kind', 'outcome'],
    help: 'Attempts to send a notification by kind of destination. outcome="failed" if there are no more attempts.',
  },
  millrace_import_records_total: {
    kind: 'counter',
    labels: ['stage'],
    help: 'Records (export, check) and events (later stages) processed by import runs.',
  },
  millrace_http_requests_total: {
    kind: 'counter',
    labels: ['route', 'method', 'status'],
    help: 'HTTP requests.',
  },
  millrace_http_request_seconds: {
    kind: 'histogram',
    labels: ['route', 'method'],
    help: 'HTTP response time by route.',
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
  },
} as const satisfies Record<string, MetricDefinition>;

interface MetricDefinition {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
  readonly buckets?: readonly number[];
}

type Definitions = typeof metricDefinitions;
export type MetricName = keyof Definitions;
type NamesOf<K extends MetricDefinition['kind']> = {
  [N in MetricName]: Definitions[N]['kind'] extends K ? N : never;
}[MetricName];
export type CounterName = NamesOf<'counter'>;
export type GaugeName = NamesOf<'gauge'>;
type LabelsOf<N extends MetricName> = Readonly<Record<Definitions[N]['labels'][number], string>>;

export interface Metrics {
  count<N extends NamesOf<'counter'>>(name: N, labels: LabelsOf<N>, by?: number): void;
  set<N extends NamesOf<'gauge'>>(name: N, labels: LabelsOf<N>, value: number): void;
  /** `seconds` is the observed duration. */
  observe<N extends NamesOf<'histogram'>>(name: N, labels: LabelsOf<N>, seconds: number): void;
}

export interface MetricValue {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Holds the values. There is one per process, in the main thread. */
export interface MetricsRegistry extends Metrics {
  /** Adds a callback that sets values before each `text`. If it fails, values stay as they were. */
  beforeText(refresh: () => void | Promise<void>): void;
  /** Returns the current values of a counter or gauge. Gauges set by `beforeText` are as of the last `text`. */
  values(name: CounterName | GaugeName): Promise<readonly MetricValue[]>;
  /** Returns the Prometheus text format. */
  text(): Promise<string>;
  /** Returns the current values of all metrics, as of `text`. */
  snapshot(): Promise<readonly MetricSnapshot[]>;
}

export type MetricSnapshot = { readonly name: string; readonly help: string } & (
  | { readonly kind: 'counter' | 'gauge'; readonly points: readonly MetricValue[] }
  | { readonly kind: 'histogram'; readonly points: readonly HistogramPoint[] }
);

export function createMetrics(): MetricsRegistry {
  const registry = new Registry();
  const refreshers: (() => void | Promise<void>)[] = [];
  const counters = new Map<MetricName, LabelCells<Count>>();
  const gauges = new Map<MetricName, Gauge>();
  const histograms = new Map<MetricName, Histogram>();
  const names = Object.keys(metricDefinitions) as MetricName[];
  for (const name of names) {
    const definition: MetricDefinition = metricDefinitions[name];
    const base = { name, help: definition.help, labelNames: definition.labels, registers: [registry] };
    if (definition.kind === 'counter') counters.set(name, registerCounter(base));
    else if (definition.kind === 'gauge') gauges.set(name, new Gauge(base));
    else histograms.set(name, createHistogram({ buckets: [], ...definition, name }));
  }
  const refreshAll = () => Promise.allSettled(refreshers.map(async (refresh) => refresh()));
  const values = async (name: MetricName): Promise<readonly MetricValue[]> => {
    const { values: found = [] } = (await registry.getSingleMetric(name)?.get()) ?? {};
    return found.map(({ labels, value }) => ({ labels: textsOf(labels), value }));
  };
  return {
    count: (name, labels, by = 1) => {
      if (!(by >= 0 && by < Infinity)) throw new TypeError(`expected ${name} to grow by a number, got: ${by}`);
      const count = counters.get(name)?.of(labels);
      if (count !== undefined) count.value += by;
    },
    set: (name, labels, value) => gauges.get(name)?.set(labels, value),
    observe: (name, labels, seconds) => histograms.get(name)?.observe(labels, seconds),
    beforeText: (refresh) => void refreshers.push(refresh),
    values,
    snapshot: async () => {
      await refreshAll();
      return Promise.all(
        names.map(async (name): Promise<MetricSnapshot> => {
          const { kind, help } = metricDefinitions[name];
          if (kind === 'histogram') return { name, help, kind, points: histograms.get(name)?.points() ?? [] };
          return { name, help, kind, points: await values(name) };
        }),
      );
    },
    text: async () => {
      await refreshAll();
      const texts = names.map((name) => histograms.get(name)?.text() ?? registry.getSingleMetricAsString(name));
      return `${(await Promise.all(texts)).join('\n\n')}\n`;
    },
  };
}

interface Count {
  value: number;
}

/** Counts in our own cells, several times per request; the registry collects them on demand. */
function registerCounter(base: ConstructorParameters<typeof Counter>[0]): LabelCells<Count> {
  const cells = createLabelCells<Count>(base.labelNames ?? [], () => ({ value: 0 }));
  const counter: Counter = new Counter({
    ...base,
    collect: () => {
      counter.reset();
      for (const { labels, cell } of cells.all()) counter.inc(labels, cell.value);
    },
  });
  return cells;
}

function textsOf(labels: Partial<Record<string, string | number>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]));
}
