import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useMemo } from 'react';

import { Badge } from '../../components/badge.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FilterBar, type Filter } from '../../components/filter-bar.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { usePageRows } from '../../components/use-page-rows.ts';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { oneLine } from '../../components/one-line.ts';
import { displayName, personPages, type Person } from './persons-query.ts';

const route = getRouteApi('/projects/$projectId/persons');
const filters = [
  { kind: 'text', name: 'q', label: 'Search persons', placeholder: 'Id prefix, UUID or e-mail' },
] as const satisfies readonly Filter[];

/** The persons of a project. */
export function PersonsPage() {
  const { id } = useProject();
  const { q } = route.useSearch();
  const navigate = route.useNavigate();
  const pages = useInfiniteQuery(personPages(id, q));
  const table = usePageRows(pages);
  const columns = useMemo(() => columnsOf(String(id)), [id]);
  return (
    <>
      <PageHeader title="Persons" description="Users identified by your events, newest first." />
      <FilterBar
        filters={filters}
        values={{ q }}
        onChange={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
      />
      <DataTable
        label="Persons"
        columns={columns}
        {...table}
        rowId={(person) => person.uuid}
        onOpen={({ distinct_ids: [distinctId = ''] }) =>
          void navigate({
            to: '/projects/$projectId/persons/$distinctId',
            params: { projectId: String(id), distinctId },
          })
        }
        empty={<NoPersons filtered={q !== undefined} />}
      />
    </>
  );
}

function NoPersons({ filtered }: { readonly filtered: boolean }) {
  if (filtered) {
    return (
      <EmptyState title="No matching persons">
        Search by the beginning of a distinct id, or by a full UUID or e-mail address.
      </EmptyState>
    );
  }
  return <EmptyState title="No persons yet">Persons are created from the distinct ids of stored events.</EmptyState>;
}

function columnsOf(projectId: string): readonly Column<Person>[] {
  return [
    {
      id: 'name',
      header: 'Name',
      width: '16rem',
      cell: (person) => (
        <Link
          to="/projects/$projectId/persons/$distinctId"
          params={{ projectId, distinctId: person.distinct_ids[0] ?? '' }}
          className="block truncate font-medium hover:underline"
        >
          <UserText text={displayName(person)} charsMax={60} short />
        </Link>
      ),
    },
    {
      id: 'kind',
      header: 'Kind',
      width: '8rem',
      cell: (person) => (person.is_identified ? <Badge tone="ok">identified</Badge> : <Badge>anonymous</Badge>),
    },
    {
      id: 'ids',
      header: 'Ids',
      width: '5rem',
      align: 'end',
      cell: (person) => <NumberText value={person.distinct_ids.length} />,
    },
    {
      id: 'properties',
      header: 'Properties',
      cell: ({ properties }) => (
        <span className="block truncate text-soft">
          <UserText text={oneLine(properties)} charsMax={160} short />
        </span>
      ),
    },
    { id: 'created', header: 'First seen', width: '11rem', cell: (person) => <TimeText time={person.created_at} /> },
  ];
}
