import { ValueType, type HrTime } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  type DataPoint,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { MetricSnapshot, MetricsRegistry } from './metrics.ts';

/** Reads the registry for OTLP: the metrics of /metrics with their names and labels. */
export function createMetricProducer(metrics: MetricsRegistry, resource: Resource): MetricProducer {
  const startTime = hrTime(Date.now());
  return {
    collect: async () => {
      const snapshots = await metrics.snapshot();
      const endTime = hrTime(Date.now());
      const data = snapshots.map((snapshot) => toMetricData(snapshot, { startTime, endTime }));
      const filled = data.filter(({ dataPoints }) => dataPoints.length > 0);
      return {
        resourceMetrics: { resource, scopeMetrics: [{ scope: { name: 'millrace' }, metrics: filled }] },
        errors: [],
      };
    },
  };
}

type Times = Pick<DataPoint<number>, 'startTime' | 'endTime'>;

function toMetricData({ name, help, ...values }: MetricSnapshot, times: Times): MetricData {
  const descriptor = { name, description: help, unit: unitOf(name), valueType: ValueType.DOUBLE };
  const base = { descriptor, aggregationTemporality: AggregationTemporality.CUMULATIVE };
  if (values.kind === 'histogram') {
    const dataPoints = values.points.map(({ labels, boundaries, counts, sum }) => ({
      ...times,
      attributes: { ...labels },
      value: { buckets: { boundaries: [...boundaries], counts: [...counts] }, sum, count: counts.reduce(add, 0) },
    }));
    return { ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  const dataPoints = values.points.map(({ labels, value }) => ({ ...times, attributes: { ...labels }, value }));
  if (values.kind === 'gauge') return { ...base, dataPointType: DataPointType.GAUGE, dataPoints };
  return { ...base, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
}

function unitOf(name: string): string {
  if (/_seconds(_total)?$/.test(name)) return 's';
  return /_bytes(_total)?$/.test(name) ? 'By' : '';
}

function add(sum: number, count: number): number {
  return sum + count;
}

function hrTime(ms: number): HrTime {
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
}
