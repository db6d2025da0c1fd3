import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { MetricInterval, PluginMetricsRecord } from '../../../../src/wire/contract/plugin-view.ts';
import { apiQuery } from '../../api/queries.ts';
import { Chart } from '../../components/chart.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { Loading } from '../../components/loading.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import { Select } from '../../components/select.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { transformationPath } from './transformation-queries.ts';

const pollMs = 30_000;
const intervals = [
  { value: 'hour', label: 'Last 24 hours, by hour' },
  { value: 'day', label: 'Last 30 days, by day' },
] as const;

/** Outcomes of the events the step received. */
export function MetricsTab({ id }: { readonly id: number }) {
  const { id: projectId } = useProject();
  const [interval, setInterval] = useState<MetricInterval>('hour');
  const path = `${transformationPath(projectId, id)}/metrics`;
  const metrics = useQuery({ ...apiQuery<PluginMetricsRecord>(path, { interval }), refetchInterval: pollMs });
  return (
    <div className="flex flex-col gap-4">
      <div className="w-60">
        <Select label="Period" value={interval} choices={intervals} onChange={setInterval} />
      </div>
      {metrics.data === undefined && metrics.error === null && <Loading rows={5} label="Loading metrics" />}
      {metrics.data === undefined && metrics.error !== null && (
        <ErrorState error={metrics.error} onRetry={() => void metrics.refetch()} />
      )}
      {metrics.data !== undefined && <Figures metrics={metrics.data} />}
    </div>
  );
}

function Figures({ metrics: { series, totals, own } }: { readonly metrics: PluginMetricsRecord }) {
  const events = totals.succeeded + totals.failed + totals.dropped;
  return (
    <>
      <Section title="Events">
        <div className="flex flex-col gap-4">
          <Facts
            facts={[
              ['Succeeded', <NumberText key="succeeded" value={totals.succeeded} />],
              ['Dropped', <NumberText key="dropped" value={totals.dropped} />],
              ['Failed, stored unchanged', <NumberText key="failed" value={totals.failed} />],
              ['Skipped, stored unchanged', <NumberText key="skipped" value={totals.skipped} />],
              ['Time per event', <MeanTime key="time" ms={totals.time_ms} events={events} />],
            ]}
          />
          <Chart
            label="Events"
            kind="bars"
            times={series.map(({ time }) => Date.parse(time) / 1000)}
            series={[
              { label: 'Succeeded', tone: 'ok', values: series.map(({ succeeded }) => succeeded) },
              { label: 'Dropped', tone: 'soft', values: series.map(({ dropped }) => dropped) },
              { label: 'Failed', tone: 'danger', values: series.map(({ failed }) => failed) },
              { label: 'Skipped', tone: 'warn', values: series.map(({ skipped }) => skipped) },
            ]}
          />
        </div>
      </Section>
      {own.map((metric) => (
        <Section
          key={metric.name}
          title={<UserText text={metric.name} charsMax={100} short />}
          description={`Metric of the plugin: ${metric.kind} ${metric.total.toLocaleString('en')}`}
        >
          <Chart
            label={metric.name}
            times={metric.series.map(({ time }) => Date.parse(time) / 1000)}
            series={[{ label: metric.kind, tone: 'accent', values: metric.series.map(({ value }) => value) }]}
          />
        </Section>
      ))}
    </>
  );
}

function MeanTime({ ms, events }: { readonly ms: number; readonly events: number }) {
  if (events === 0) return <span className="text-faint">–</span>;
  return <>{(ms / events).toLocaleString('en', { maximumSignificantDigits: 3 })} ms</>;
}
