import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { SidePanel } from '../../components/side-panel.tsx';
import { Sparkline } from '../../components/sparkline.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { dailyCounts, violationsQuery, type RuleViolations } from './plan-queries.ts';

const route = getRouteApi('/projects/$projectId/tracking-plan');
const pollMs = 10_000;

/** Rules of the plan that events of the last 7 days violated. */
export function ViolationsTab() {
  const { id } = useProject();
  const { q, rule } = route.useSearch();
  const navigate = route.useNavigate();
  const found = useQuery({ ...violationsQuery(id), refetchInterval: pollMs });
  const all = found.data?.results;
  const rows = useMemo(
    () =>
      all?.filter((row) =>
        nameOf(row)
          .toLowerCase()
          .includes((q ?? '').toLowerCase()),
      ),
    [all, q],
  );
  const open = (next: string | undefined): void => void navigate({ search: (before) => ({ ...before, rule: next }) });
  return (
    <div className="flex flex-col gap-4">
      <FilterBar
        filters={[{ kind: 'text', name: 'q', label: 'Search events and properties' }]}
        values={{ q }}
        onChange={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
      />
      <DataTable
        label="Violations"
        columns={columns}
        rows={rows}
        rowId={keyOf}
        error={found.error}
        onRetry={() => void found.refetch()}
        onOpen={(row) => open(keyOf(row))}
        openId={rule}
        empty={
          <EmptyState title={all?.length === 0 ? 'No violations in the last 7 days' : 'No matching violations'}>
            {all?.length === 0
              ? 'Violated rules appear here with examples, once a plan is saved.'
              : 'Clear the search.'}
          </EmptyState>
        }
      />
      <RulePanel row={all?.find((row) => keyOf(row) === rule)} onClose={() => open(undefined)} />
    </div>
  );
}

function RulePanel({ row, onClose }: { readonly row: RuleViolations | undefined; readonly onClose: () => void }) {
  if (row === undefined) return null;
  return (
    <SidePanel open onClose={onClose} title={<EventName row={row} />} description={<RuleName row={row} />}>
      <Facts
        facts={[
          ['Violations', <NumberText key="count" value={row.count} />],
          ['Last', <TimeText key="last" time={row.last_seen} />],
        ]}
      />
      <h3 className="text-sm font-semibold">Latest events</h3>
      {row.samples.map((sample, index) => (
        <JsonView key={index} label={`Event ${index + 1}`} value={sample} />
      ))}
    </SidePanel>
  );
}

function EventName({ row }: { readonly row: RuleViolations }) {
  return row.event === '' ? 'Several events' : <UserText text={row.event} charsMax={100} short />;
}

function RuleName({ row: { property, rule } }: { readonly row: RuleViolations }) {
  return (
    <>
      {property !== '' && (
        <>
          <UserText text={property} charsMax={100} short />:{' '}
        </>
      )}
      {rule.replaceAll('_', ' ')}
    </>
  );
}

function keyOf({ event, property, rule }: RuleViolations): string {
  return JSON.stringify([event, property, rule]);
}

function nameOf({ event, property, rule }: RuleViolations): string {
  return `${event} ${property} ${rule}`;
}

const columns: readonly Column<RuleViolations>[] = [
  {
    id: 'event',
    header: 'Event',
    sortBy: (row) => row.event,
    cell: (row) => (
      <route.Link to="." search={(before) => ({ ...before, rule: keyOf(row) })} className="font-medium hover:underline">
        <EventName row={row} />
      </route.Link>
    ),
  },
  { id: 'rule', header: 'Rule', sortBy: nameOf, cell: (row) => <RuleName row={row} /> },
  {
    id: 'found',
    header: 'Latest',
    cell: ({ samples }) => (
      <span className="text-xs text-soft">
        <UserText text={String(samples[0]?.['detail'] ?? '')} charsMax={120} short />
      </span>
    ),
  },
  {
    id: 'count',
    header: 'Violations',
    align: 'end',
    width: '7rem',
    sortBy: (row) => row.count,
    cell: (row) => <NumberText value={row.count} />,
  },
  {
    id: 'over-time',
    header: 'Over time',
    width: '8rem',
    cell: (row) => <Sparkline values={dailyCounts(row, Date.now())} label="Violations by day" />,
  },
  {
    id: 'last',
    header: 'Last',
    width: '8rem',
    sortBy: (row) => row.last_seen,
    cell: (row) => <TimeText time={row.last_seen} form="ago" />,
  },
];
