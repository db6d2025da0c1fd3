import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { useAnnounce } from '../../components/announcer.tsx';
import { Chart } from '../../components/chart.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { type Filter, FilterBar } from '../../components/filter-bar.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { SidePanel } from '../../components/side-panel.tsx';
import { Sparkline } from '../../components/sparkline.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import {
  filterWarnings,
  hourlyCounts,
  inBars,
  type Period,
  periodHours,
  periodStart,
  type Warning,
  warningsQuery,
} from './warnings-query.ts';
import { periods, severities } from './warnings-search.ts';

const route = getRouteApi('/projects/$projectId/warnings');
const pollMs = 10_000;
const rank = { error: 0, warning: 1, info: 2 } as const;

const filters = [
  { kind: 'text', name: 'q', label: 'Search warnings' },
  {
    kind: 'choice',
    name: 'severity',
    label: 'Any severity',
    choices: severities.map((value) => ({ value, label: value })),
  },
  {
    kind: 'choice',
    name: 'period',
    label: 'Last 7 days',
    choices: periods
      .filter((value) => value !== '7d')
      .map((value) => ({ value, label: value === '24h' ? 'Last 24 hours' : 'Last 30 days' })),
  },
] as const satisfies readonly Filter[];

/** Ingestion warnings by type. */
export function WarningsPage() {
  const { id } = useProject();
  const { q, severity, period = '7d', type } = route.useSearch();
  const navigate = route.useNavigate();
  const announce = useAnnounce();
  const warnings = useQuery({ ...warningsQuery(id, period, Date.now()), refetchInterval: pollMs });
  const all = warnings.data?.results;
  const rows = useMemo(() => all && filterWarnings(all, { q, severity }), [all, q, severity]);
  const count = rows?.length;
  useEffect(() => {
    if (count !== undefined) announce(`${count} types of warnings`);
  }, [announce, count]);
  const columns = useMemo(() => columnsOf(period), [period]);
  const open = (next: string | undefined): void => void navigate({ search: (before) => ({ ...before, type: next }) });
  return (
    <>
      <PageHeader
        title="Warnings"
        description="Events that were changed, dropped or refused. Those with severity error are kept as dead letters."
      />
      <FilterBar
        filters={filters}
        values={{ q, severity, period: period === '7d' ? undefined : period }}
        onChange={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
      />
      <DataTable
        label="Warnings"
        columns={columns}
        rows={rows}
        rowId={(row) => row.type}
        error={warnings.error}
        onRetry={() => void warnings.refetch()}
        onOpen={(row) => open(row.type)}
        openId={type}
        empty={<NoWarnings filtered={all !== undefined && all.length > 0} />}
      />
      <WarningPanel warning={all?.find((each) => each.type === type)} period={period} onClose={() => open(undefined)} />
    </>
  );
}

function NoWarnings({ filtered }: { readonly filtered: boolean }) {
  if (filtered)
    return <EmptyState title="No matching warnings">Clear the filters or choose a longer period.</EmptyState>;
  return (
    <EmptyState title="No warnings in this period">
      All received events were stored as sent. Otherwise the type of warning appears here with examples.
    </EmptyState>
  );
}

function columnsOf(period: keyof typeof periodHours): readonly Column<Warning>[] {
  const bars = ({ sparkline }: Warning): number[] =>
    inBars(hourlyCounts(sparkline, periodStart(period, Date.now()), periodHours[period]), 32);
  return [
    {
      id: 'severity',
      header: 'Severity',
      width: '7rem',
      sortBy: (row) => rank[row.severity],
      cell: (row) => <SeverityBadge severity={row.severity} />,
    },
    {
      id: 'type',
      header: 'Type',
      sortBy: (row) => row.type,
      cell: (row) => (
        <>
          <route.Link
            to="."
            search={(before) => ({ ...before, type: row.type })}
            className="font-medium hover:underline"
          >
            <UserText text={row.type} charsMax={80} short />
          </route.Link>
          <p className="text-xs text-soft">
            <UserText text={row.meaning} />
          </p>
        </>
      ),
    },
    {
      id: 'count',
      header: 'Occurrences',
      align: 'end',
      width: '8rem',
      sortBy: (row) => row.count,
      cell: (row) => <NumberText value={row.count} />,
    },
    {
      id: 'over-time',
      header: 'Over time',
      width: '8rem',
      cell: (row) => <Sparkline values={bars(row)} label={`${row.type} over time`} />,
    },
    {
      id: 'last',
      header: 'Last',
      width: '8rem',
      sortBy: (row) => row.last_seen,
      cell: (row) => <TimeText time={row.last_seen} form="ago" />,
    },
  ];
}

interface WarningPanelProps {
  readonly warning: Warning | undefined;
  readonly period: Period;
  readonly onClose: () => void;
}

/** One type of warning: occurrences over time, and the latest affected events. */
function WarningPanel({ warning, period, onClose }: WarningPanelProps) {
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
      {warning.samples.length === 0 && <EmptyState title="No samples kept" />}
      {warning.samples.map((sample, index) => (
        <JsonView key={index} value={sample} />
      ))}
    </SidePanel>
  );
}

const severityTones = { error: 'danger', warning: 'warn', info: 'info' } as const;

function SeverityBadge({ severity }: { readonly severity: Warning['severity'] }) {
  return <StatusBadge tone={severityTones[severity]}>{severity}</StatusBadge>;
}
