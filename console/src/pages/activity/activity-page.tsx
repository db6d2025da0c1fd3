import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { ActivityEntry } from '../../../../src/wire/contract/activity.ts';
import { userName, usersQuery } from '../../api/users.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { type Filter, FilterBar } from '../../components/filter-bar.tsx';
import { Input } from '../../components/input.tsx';
import { JsonDiff } from '../../components/json-diff.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { Loading } from '../../components/loading.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { SidePanel } from '../../components/side-panel.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { usePageRows } from '../../components/use-page-rows.ts';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import {
  type ActivityDetail,
  type ActivityFilters,
  activityQuery,
  actorOf,
  configPageOf,
  entryQuery,
  itemOf,
  sentenceOf,
  sideOf,
} from './activity-query.ts';
import { scopeLabels, scopes } from './activity-search.ts';

const route = getRouteApi('/projects/$projectId/activity');

/** The audit log of a project, newest first. */
export function ActivityPage() {
  const { id } = useProject();
  const { entry, ...filters } = route.useSearch();
  const navigate = route.useNavigate();
  const log = useInfiniteQuery(activityQuery(id, filters));
  const table = usePageRows(log);
  const change = (next: ActivityFilters): void =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true });
  const open = (next: string | undefined): void => void navigate({ search: (before) => ({ ...before, entry: next }) });
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  return (
    <>
      <PageHeader
        title="Activity"
        description="Who changed what, with every field before and after. Secrets are masked."
      />
      <ActivityFilterBar filters={filters} onChange={change} />
      <DataTable
        label="Activity"
        columns={columns}
        {...table}
        rowId={(row) => row.id}
        onOpen={(row) => open(row.id)}
        openId={entry}
        empty={
          <EmptyState title={isFiltered ? 'No matching changes' : 'No changes yet'}>
            {isFiltered
              ? 'Clear the filters or choose a longer period.'
              : 'Changes that users and the service make to this project appear here.'}
          </EmptyState>
        }
      />
      <ActivityPanel id={entry} onClose={() => open(undefined)} />
    </>
  );
}

interface ActivityFilterBarProps {
  readonly filters: ActivityFilters;
  readonly onChange: (change: ActivityFilters) => void;
}

function ActivityFilterBar({ filters, onChange }: ActivityFilterBarProps) {
  const { data: users } = useQuery(usersQuery);
  const bar = useMemo((): readonly Filter<keyof ActivityFilters>[] => {
    const actors = (users ?? []).map((user) => ({ value: String(user.id), label: userName(user) }));
    return [
      {
        kind: 'choice',
        name: 'by',
        label: 'Any user',
        choices: [...actors, { value: 'system', label: 'The service' }],
      },
      {
        kind: 'choice',
        name: 'scope',
        label: 'Any type',
        choices: scopes.map((value) => ({ value, label: scopeLabels[value] })),
      },
      ...(filters.scope === undefined
        ? []
        : [{ kind: 'text', name: 'item', label: 'Item id' } as const satisfies Filter<keyof ActivityFilters>]),
      { kind: 'text', name: 'activity', label: 'Action', placeholder: 'Action, such as deleted' },
    ];
  }, [users, filters.scope]);
  return (
    <FilterBar filters={bar} values={filters} onChange={onChange}>
      <DayInput label="From (UTC)" value={filters.from} onChange={(from) => onChange({ from })} />
      <DayInput label="To (UTC)" value={filters.to} onChange={(to) => onChange({ to })} />
    </FilterBar>
  );
}

interface DayInputProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (day: string | undefined) => void;
}

function DayInput({ label, value, onChange }: DayInputProps) {
  return (
    <label className="flex items-center gap-1.5 text-xs whitespace-nowrap text-soft">
      {label}
      <Input
        type="date"
        value={value ?? ''}
        onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value)}
        className="w-36"
      />
    </label>
  );
}

const columns: readonly Column<ActivityEntry>[] = [
  { id: 'when', header: 'When', width: '11rem', cell: (row) => <TimeText time={row.created_at} /> },
  {
    id: 'who',
    header: 'Who',
    width: '15rem',
    cell: (row) => (
      <>
        <UserText text={actorOf(row)} charsMax={80} short />
        {row.key_label !== null && (
          <span className="block truncate text-xs text-soft">
            key <UserText text={row.key_label} charsMax={60} short />
          </span>
        )}
      </>
    ),
  },
  {
    id: 'what',
    header: 'What',
    cell: (row) => (
      <>
        <route.Link to="." search={(before) => ({ ...before, entry: row.id })} className="font-medium hover:underline">
          <UserText text={sentenceOf(row)} charsMax={120} short />
        </route.Link>
        <span className="block text-xs text-soft">
          <UserText text={row.detail.changes.map(({ field }) => field).join(', ')} charsMax={100} short />
        </span>
      </>
    ),
  },
  {
    id: 'item',
    header: 'Item',
    width: '12rem',
    cell: (row) => <UserText text={itemOf(row)} charsMax={40} short />,
  },
];

interface ActivityPanelProps {
  readonly id: string | undefined;
  readonly onClose: () => void;
}

/** One change: every field before and after, and the item at that time. */
function ActivityPanel({ id, onClose }: ActivityPanelProps) {
  return id === undefined ? null : <OpenPanel id={id} onClose={onClose} />;
}

function OpenPanel({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const project = useProject();
  const entry = useQuery(entryQuery(project.id, id));
  const { data } = entry;
  const title = data === undefined ? 'Change' : <UserText text={sentenceOf(data)} short />;
  return (
    <SidePanel open onClose={onClose} title={title}>
      {data === undefined && entry.error === null && <Loading label="Loading change" />}
      {data === undefined && entry.error !== null && (
        <ErrorState error={entry.error} onRetry={() => void entry.refetch()} />
      )}
      {data !== undefined && <EntryDetails entry={data} />}
    </SidePanel>
  );
}

function EntryDetails({ entry }: { readonly entry: ActivityDetail }) {
  const { changes } = entry.detail;
  return (
    <>
      <Facts
        facts={[
          ['When', <TimeText key="when" time={entry.created_at} form="exact" />],
          ['Who', <UserText key="who" text={actorOf(entry)} />],
          ['Key', <UserText key="key" text={entry.key_label ?? '–'} />],
          ['Item', <UserText key="item" text={`${entry.scope} ${entry.item_id}`} />],
          ['Request', <UserText key="request" text={entry.request_id ?? '–'} />],
        ]}
      />
      <h3 className="text-sm font-semibold">Changed fields</h3>
      {changes.length === 0 ? (
        <EmptyState title="No changed fields">This action did not change any field of the item.</EmptyState>
      ) : (
        <JsonDiff before={sideOf(changes, 'before')} after={sideOf(changes, 'after')} />
      )}
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h3 className="text-sm font-semibold">Item at that time</h3>
        <ConfigLink entry={entry} />
      </div>
      <JsonView value={entry.snapshot} />
    </>
  );
}

function ConfigLink({ entry }: { readonly entry: ActivityDetail }) {
  const { id } = useProject();
  const page = configPageOf(entry);
  if (page === undefined) return null;
  return (
    <Link
      to={
        page === 'transformations'
          ? '/projects/$projectId/transformations/$configId'
          : '/projects/$projectId/imports/$configId'
      }
      params={{ projectId: String(id), configId: entry.item_id }}
      className="text-sm text-accent underline"
    >
      Open current config
    </Link>
  );
}
