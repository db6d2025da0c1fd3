import { Chart } from '../../components/chart.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { SidePanel } from '../../components/side-panel.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { SeverityBadge } from './severity-badge.tsx';
import { hourlyCounts, periodHours, periodStart, type Period, type Warning } from './warnings-query.ts';

interface WarningPanelProps {
  readonly warning: Warning | undefined;
  readonly period: Period;
  readonly onClose: () => void;
}

/** One type of warning: how often over time, and the latest events that it happened to. */
export function WarningPanel({ warning, period, onClose }: WarningPanelProps) {
  if (warning === undefined) return null;
  const start = periodStart(period, Date.now());
  const values = hourlyCounts(warning.sparkline, start, periodHours[period]);
  const times = values.map((_count, index) => start / 1000 + index * 3600);
  return (
    <SidePanel
      open
      onClose={onClose}
      title={<UserText text={warning.type} />}
      description={<UserText text={warning.meaning} />}
    >
      <Facts
        facts={[
          ['Severity', <SeverityBadge key="severity" severity={warning.severity} />],
          ['Occurrences', <NumberText key="count" value={warning.count} />],
          ['Last', <TimeText key="last" time={warning.last_seen} />],
        ]}
      />
      <Chart
        label="Occurrences by hour"
        kind="bars"
        times={times}
        series={[{ label: 'Occurrences', tone: 'accent', values }]}
      />
      <h3 className="text-sm font-semibold">Latest occurrences</h3>
      {warning.samples.length === 0 && <EmptyState title="None of them was kept" />}
      {warning.samples.map((sample, index) => (
        <JsonView key={index} value={sample} />
      ))}
    </SidePanel>
  );
}
