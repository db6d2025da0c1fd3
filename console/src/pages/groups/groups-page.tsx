import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { GroupsOfType } from './groups-of-type.tsx';
import { groupTypesQuery, type GroupType } from './groups-query.ts';

const route = getRouteApi('/projects/$projectId/groups');

/** Groups (companies, teams …), as their events tell. */
export function GroupsPage() {
  const { id } = useProject();
  const types = useQuery(groupTypesQuery(id));
  return (
    <>
      <PageHeader title="Groups" description="Companies, teams and other groups, as events tell of them." />
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
        An event with <code>$groups</code>, or a <code>$groupidentify</code>, makes a group type: client libraries do it
        with <code>group()</code>.
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
