import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { Static } from 'typebox';
import type { GroupRecord, groupTypeSchema } from '../../../../src/wire/contract/groups.ts';
import { apiPages, apiQuery, projectPath } from '../../api/queries.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { type Filter, FilterBar } from '../../components/filter-bar.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { Loading } from '../../components/loading.tsx';
import { oneLine } from '../../components/one-line.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { SidePanel } from '../../components/side-panel.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { usePageRows } from '../../components/use-page-rows.ts';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';

const route = getRouteApi('/projects/$projectId/groups');

/** Groups such as companies and teams, from `$groupidentify` events. */
export function GroupsPage() {
  const { id } = useProject();
  const types = useQuery(groupTypesQuery(id));
  return (
    <>
      <PageHeader title="Groups" description="Companies, teams and other groups that events refer to." />
      {types.data === undefined && types.error !== null && (
        <ErrorState error={types.error} onRetry={() => void types.refetch()} busy={types.isFetching} />
      )}
      {types.data === undefined && types.error === null && <Loading rows={6} label="Loading group types" />}
      {types.data?.length === 0 && <NoGroups />}
      {types.data !== undefined && types.data.length > 0 && <Types types={types.data} />}
    </>
  );
}

function NoGroups() {
  return (
    <div className="rounded-lg border border-line bg-surface">
      <EmptyState title="No groups yet">
        Call <code>group()</code> in a client library, or send an event with <code>$groups</code>.
      </EmptyState>
    </div>
  );
}

function Types({ types }: { readonly types: readonly GroupType[] }) {
  const { type } = route.useSearch();
  const navigate = route.useNavigate();
  const chosen = types.find((each) => each.group_type_index === type) ?? types[0];
  if (chosen === undefined) return null;
  return (
    <Tabs
      tabs={types.map((each) => ({
        value: String(each.group_type_index),
        label: <UserText text={each.group_type} charsMax={40} short />,
      }))}
      value={String(chosen.group_type_index)}
      onChange={(next) => void navigate({ search: { type: Number(next) } })}
    >
      <GroupsOfType key={chosen.group_type_index} type={chosen} />
    </Tabs>
  );
}

const filters = [{ kind: 'text', name: 'q', label: 'Search keys' }] as const satisfies readonly Filter[];

/** The groups of one type, and the details of the open one. */
function GroupsOfType({ type }: { readonly type: GroupType }) {
  const { id } = useProject();
  const { q, group } = route.useSearch();
  const navigate = route.useNavigate();
  const pages = useInfiniteQuery(groupPages(id, type.group_type_index, q));
  const table = usePageRows(pages);
  const open = (key: string | undefined): void => void navigate({ search: (before) => ({ ...before, group: key }) });
  const columns = useMemo(
    () => columnsOf((key) => void navigate({ search: (before) => ({ ...before, group: key }) })),
    [navigate],
  );
  return (
    <>
      <FilterBar
        filters={filters}
        values={{ q }}
        onChange={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
      />
      <DataTable
        label="Groups"
        columns={columns}
        {...table}
        rowId={(each) => each.group_key}
        onOpen={(each) => open(each.group_key)}
        {...(group === undefined ? {} : { openId: group })}
        empty={
          q === undefined ? (
            <EmptyState title="No groups of this type have properties yet">
              Send a <code>$groupidentify</code> event to set them.
            </EmptyState>
          ) : (
            <EmptyState title="No matching groups" />
          )
        }
      />
      {group !== undefined && <GroupPanel type={type} groupKey={group} onClose={() => open(undefined)} />}
    </>
  );
}

interface GroupPanelProps {
  readonly type: GroupType;
  readonly groupKey: string;
  readonly onClose: () => void;
}

function GroupPanel({ type, groupKey, onClose }: GroupPanelProps) {
  const { id } = useProject();
  const fetched = useQuery(groupQuery(id, type.group_type_index, groupKey));
  return (
    <SidePanel
      open
      onClose={onClose}
      title={<UserText text={groupKey} charsMax={120} short />}
      description={<UserText text={type.group_type} charsMax={80} short />}
    >
      {fetched.error !== null && fetched.data === undefined && (
        <ErrorState error={fetched.error} onRetry={() => void fetched.refetch()} busy={fetched.isFetching} />
      )}
      {fetched.data !== undefined && (
        <>
          <Facts facts={[['First seen', <TimeText key="first" time={fetched.data.created_at} />]]} />
          <h3 className="text-sm font-semibold">Properties</h3>
          <JsonView label="Properties" value={fetched.data.group_properties} />
        </>
      )}
    </SidePanel>
  );
}

function columnsOf(open: (key: string) => void): readonly Column<Group>[] {
  return [
    {
      id: 'key',
      header: 'Key',
      width: '16rem',
      cell: ({ group_key: key }) => (
        <button type="button" className="max-w-full truncate text-left font-medium" onClick={() => open(key)}>
          <UserText text={key} charsMax={60} short />
        </button>
      ),
    },
    {
      id: 'properties',
      header: 'Properties',
      cell: (group) => (
        <span className="block truncate text-soft">
          <UserText text={oneLine(group.group_properties)} charsMax={160} short />
        </span>
      ),
    },
    { id: 'created', header: 'First seen', width: '11rem', cell: (group) => <TimeText time={group.created_at} /> },
  ];
}

type Group = GroupRecord;
type GroupType = Static<typeof groupTypeSchema>;

function groupTypesQuery(projectId: number) {
  return apiQuery<readonly GroupType[]>(projectPath(projectId, 'groups_types'));
}

function groupPages(projectId: number, type: number, search: string | undefined) {
  return apiPages<Group>(projectPath(projectId, 'groups'), { group_type_index: type, search });
}

function groupQuery(projectId: number, type: number, key: string) {
  return apiQuery<Group>(projectPath(projectId, 'groups/find'), { group_type_index: type, group_key: key });
}
