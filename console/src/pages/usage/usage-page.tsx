import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import { Chart } from '../../components/chart.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Section } from '../../components/section.tsx';
import { BareSelect, type Choice } from '../../components/select.tsx';
import { StatTile } from '../../components/stat-tile.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { everyDay, periodDays, usageQuery, type UsageDay } from './usage-query.ts';
import { periods, type Period } from './usage-search.ts';

const route = getRouteApi('/projects/$projectId/usage');
const choices: readonly Choice<Period>[] = periods.map((value) => ({ value, label: `Last ${periodDays[value]} days` }));

const columns: readonly Column<UsageDay>[] = [
  { id: 'day', header: 'Day (UTC)', sortBy: (row) => row.date, cell: (row) => row.date },
  {
    id: 'live',
    header: 'Live',
    align: 'end',
    sortBy: (row) => row.standard,
    cell: (row) => <NumberText value={row.standard} />,
  },
  {
    id: 'historical',
    header: 'Historical',
    align: 'end',
    sortBy: (row) => row.historical,
    cell: (row) => <NumberText value={row.historical} />,
  },
];

/** Events by the day they were received. */
export function UsagePage() {
  const { id } = useProject();
  const { period = '30d' } = route.useSearch();
  const navigate = route.useNavigate();
  const usage = useQuery(usageQuery(id, period, Date.now()));
  const days = useMemo(() => usage.data && everyDay(usage.data.results, period, Date.now()), [usage.data, period]);
  const withEvents = useMemo(
    () => days?.filter(({ standard, historical }) => standard + historical > 0).toReversed(),
    [days],
  );
  return (
    <>
      <PageHeader
        title="Usage"
        description="Events by the day they were received, without duplicates. Historical imports are counted separately."
        actions={
          <span className="w-40">
            <BareSelect
              aria-label="Period"
              value={period}
              choices={choices}
              onChange={(next) => void navigate({ search: { period: next }, replace: true })}
            />
          </span>
        }
      />
      <div className="flex flex-col gap-4">
        <dl className="grid grid-cols-2 gap-3">
          <StatTile label="Live" value={<NumberText value={usage.data?.total.standard} />} />
          <StatTile label="Historical" value={<NumberText value={usage.data?.total.historical} />} />
        </dl>
        <Section title="Events by day">
          <Chart
            label="Events by day"
            kind="bars"
            times={(days ?? []).map(({ date }) => Date.parse(date) / 1000)}
            series={[
              { label: 'Live', tone: 'accent', values: (days ?? []).map(({ standard }) => standard) },
              { label: 'Historical', tone: 'info', values: (days ?? []).map(({ historical }) => historical) },
            ]}
          />
        </Section>
        <DataTable
          label="Usage by day"
          columns={columns}
          rows={withEvents}
          rowId={(row) => row.date}
          error={usage.error}
          onRetry={() => void usage.refetch()}
          empty={
            <EmptyState title="No events in this period">
              Events count on the day they are received, regardless of their timestamp.
            </EmptyState>
          }
        />
      </div>
    </>
  );
}
