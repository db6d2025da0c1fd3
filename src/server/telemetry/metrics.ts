import { Counter, Gauge, Registry } from 'prom-client';
import { createHistogram, type Histogram } from './histogram.ts';
import { createLabelCells, type LabelCells } from './label-cells.ts';

/**
 * Every metric, declared once: name, kind, labels, meaning. docs/reference/metrics.md follows from this table.
 * Names follow Vector's: `component_*`; `intentional` tells a filter from a loss.
 */
export const metricDefinitions = {
  millrace_component_received_events_total: {
    kind: 'counter',
    labels: ['component', 'lane'],
    help: 'Events that a component took in.',
  },
  millrace_component_received_bytes_total: {
    kind: 'counter',
    labels: ['component', 'lane'],
    help: 'Body bytes that a component took in, as received.',
  },
  millrace_component_sent_events_total: {
    kind: 'counter',
    labels: ['component', 'lane'],
    help: 'Events that a component handed on.',
  },
  millrace_component_discarded_events_total: {
    kind: 'counter',
    labels: ['component', 'lane', 'reason', 'intentional'],
    help: 'Events that went no further. intentional="true": somebody configured it.',
  },
  millrace_component_errors_total: {
    kind: 'counter',
    labels: ['component', 'error_type'],
    help: 'Errors, by type.',
  },
  millrace_ingestion_warnings_total: {
    kind: 'counter',
    labels: ['type'],
    help: 'Ingestion warnings, by type.',
  },
  millrace_buffer_events: { kind: 'gauge', labels: ['lane'], help: 'Events waiting in the event log.' },
  millrace_buffer_bytes: { kind: 'gauge', labels: ['lane'], help: 'Body bytes waiting in the event log.' },
  millrace_buffer_oldest_seconds: {
    kind: 'gauge',
    labels: ['lane'],
    help: 'Time that the oldest record in the event log has waited, since the start of the service at most.',
  },
  millrace_log_slot_records: {
    kind: 'gauge',
    labels: ['lane', 'slot'],
    help: 'With Kafka: records that wait in each slot, as every process sees them.',
  },
  millrace_slots_held: {
    kind: 'gauge',
    labels: [],
    help: 'Slots of the event log that this process works on; 1 where the log is its own.',
  },
  millrace_slots_lost_total: {
    kind: 'counter',
    labels: [],
    help: 'With Kafka: slots that this process held longer than their leases; what it had not stored is stored by another.',
  },
  millrace_profile_conflicts_total: {
    kind: 'counter',
    labels: [],
    help: 'Transactions done again because another slot of a project that is spread had changed the same persons or groups.',
  },
  millrace_log_append_seconds: {
    kind: 'histogram',
    labels: ['lane'],
    help: 'With Kafka: time of one request that appends, with all that travels in it.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  millrace_log_read_records_total: {
    kind: 'counter',
    labels: ['lane'],
    help: 'With Kafka: records that this process read.',
  },
  millrace_log_read_bytes_total: {
    kind: 'counter',
    labels: ['lane'],
    help: 'With Kafka: body bytes that this process read.',
  },
  millrace_log_failures_total: {
    kind: 'counter',
    labels: ['operation'],
    help: 'With Kafka: tries that failed; most are made again. operation: append, backlog, read, wait, delete.',
  },
  millrace_source_lag_seconds: {
    kind: 'gauge',
    labels: ['lane'],
    help: 'Time from arrival to stored of the newest window.',
  },
  millrace_ingest_ack_seconds: {
    kind: 'histogram',
    labels: ['lane'],
    help: 'Time from the last body byte to the durable answer.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  },
  millrace_store_insert_seconds: {
    kind: 'histogram',
    labels: [],
    help: 'Time of one insert into the event store.',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  millrace_log_lines_dropped_total: {
    kind: 'counter',
    labels: [],
    help: 'Log lines that were lost because stderr took none, e.g. a file on a full disk.',
  },
  millrace_store_restarts_total: { kind: 'counter', labels: [], help: 'Restarts of the embedded event store.' },
  millrace_sandbox_instances: {
    kind: 'gauge',
    labels: ['thread'],
    help: 'Plugins in memory, by the thread whose process holds them.',
  },
  millrace_sandbox_memory_bytes: {
    kind: 'gauge',
    labels: ['thread'],
    help: 'Memory of the process that plugins run in; 0 while there is none.',
  },
  millrace_sandbox_restarts: {
    kind: 'gauge',
    labels: ['thread'],
    help: 'Times that the process of plugins ended and was made anew since the service started.',
  },
  millrace_import_runs: { kind: 'gauge', labels: ['state'], help: 'Import runs, by state.' },
  millrace_import_runs_waiting: {
    kind: 'gauge',
    labels: [],
    help: 'Import runs that are at work and wait: for a rate limit, a server that is away, room on the disk. The run says which.',
  },
  millrace_import_stalled_seconds: {
    kind: 'gauge',
    labels: [],
    help: 'Time since the run at work that has waited longest came any further; 0: none is at work.',
  },
  millrace_notices_total: {
    kind: 'counter',
    labels: ['kind', 'outcome'],
    help: 'Attempts to send a notice, by kind of destination. outcome="failed": it was given up.',
  },
  millrace_import_records_total: {
    kind: 'counter',
    labels: ['stage'],
    help: 'What import runs got through: records of the source in export and check, events in the stages that follow.',
  },
  millrace_http_requests_total: {
    kind: 'counter',
    labels: ['route', 'method', 'status'],
    help: 'Answered HTTP requests.',
  },
  millrace_http_request_seconds: {
    kind: 'histogram',
    labels: ['route', 'method'],
    help: 'Time to answer, by route.',
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
  /** Seconds. */
  observe<N extends NamesOf<'histogram'>>(name: N, labels: LabelsOf<N>, seconds: number): void;
}

export interface MetricValue {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Where the values are kept: one per process, in the main thread. */
export interface MetricsRegistry extends Metrics {
  /** Called before every `text`, to set what is known only when asked for. One that fails leaves the values as they were. */
  beforeText(refresh: () => void | Promise<void>): void;
  /** What a counter or a gauge stands at, by its labels; gauges that are set for `text` as they were then. */
  values(name: CounterName | GaugeName): Promise<readonly MetricValue[]>;
  /** Prometheus text format. */
  text(): Promise<string>;
}

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
  return {
    count: (name, labels, by = 1) => {
      if (!(by >= 0 && by < Infinity)) throw new TypeError(`expected ${name} to grow by a number, got: ${by}`);
      const count = counters.get(name)?.of(labels);
      if (count !== undefined) count.value += by;
    },
    set: (name, labels, value) => gauges.get(name)?.set(labels, value),
    observe: (name, labels, seconds) => histograms.get(name)?.observe(labels, seconds),
    beforeText: (refresh) => void refreshers.push(refresh),
    values: async (name) => {
      const { values = [] } = (await registry.getSingleMetric(name)?.get()) ?? {};
      return values.map(({ labels, value }) => ({ labels: textsOf(labels), value }));
    },
    text: async () => {
      await Promise.allSettled(refreshers.map(async (refresh) => refresh()));
      const texts = names.map((name) => histograms.get(name)?.text() ?? registry.getSingleMetricAsString(name));
      return `${(await Promise.all(texts)).join('\n\n')}\n`;
    },
  };
}

interface Count {
  value: number;
}

/** Counted in cells of our own, several times a request; the registry is told when it is asked. */
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
