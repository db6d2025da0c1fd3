import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useMemo } from 'react';

import { Badge } from '../../components/badge.tsx';
import { ColumnChooser } from '../../components/column-chooser.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FilterBar, type Filter } from '../../components/filter-bar.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { usePageRows } from '../../components/use-page-rows.ts';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { valueText } from '../../components/one-line.ts';
import { plainText } from '../../components/plain-text.ts';
import { displayName, firstColumns, personPages, propertiesOf, type Person } from './persons-query.ts';
import { personsSearch } from './persons-search.ts';

const route = getRouteApi('/projects/$projectId/persons');
const filters = [
  { kind: 'text', name: 'q', label: 'Search persons', placeholder: 'Id prefix, UUID or e-mail' },
  {
    kind: 'choice',
    name: 'identified',
    label: 'Any kind',
    choices: [
      { value: 'true', label: 'Identified only' },
      { value: 'false', label: 'Anonymous only' },
    ],
  },
  { kind: 'choice', name: 'order', label: 'Newest first', choices: [{ value: 'oldest', label: 'Oldest first' }] },
] as const satisfies readonly Filter[];

/** The persons of a project. */
export function PersonsPage() {
  const { id } = useProject();
  const search = route.useSearch();
  const { q, identified, order } = search;
  const navigate = route.useNavigate();
  const pages = useInfiniteQuery(personPages(id, search));
  const table = usePageRows(pages);
  const known = useMemo(() => propertiesOf(table.rows ?? []), [table.rows]);
  const shownKey = JSON.stringify(search.columns ?? firstColumns(known));
  const columns = useMemo(() => columnsOf(String(id), JSON.parse(shownKey) as string[]), [id, shownKey]);
  const count = pages.data?.pages[0]?.count;
  return (
    <>
      <PageHeader
        title="Persons"
        description={<Found count={count} filtered={q !== undefined || identified !== undefined} />}
      />
      <FilterBar<{ q?: string | undefined; identified?: string | undefined; order?: string | undefined }>
        filters={filters}
        values={{ q, identified: identified?.toString(), order }}
        onChange={(change) =>
          void navigate({ search: (before) => personsSearch({ ...before, ...valuesOf(change) }), replace: true })
        }
      >
        <ColumnChooser
          chosen={JSON.parse(shownKey) as string[]}
          names={known}
          onChange={(next) => void navigate({ search: (before) => ({ ...before, columns: next }), replace: true })}
        />
      </FilterBar>
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
        empty={<NoPersons filtered={q !== undefined || identified !== undefined} />}
      />
    </>
  );
}

/** How many persons the project has, or how many match. */
function Found({ count, filtered }: { readonly count: number | undefined; readonly filtered: boolean }) {
  if (count === undefined) return 'Users and devices found in your events.';
  const [persons, match] = count === 1 ? ['person', 'matches'] : ['persons', 'match'];
  return (
    <>
      <NumberText value={count} /> {persons} {filtered ? `${match} the filters.` : 'found in your events.'}
    </>
  );
}

/** Returns search parameters for the values of the filters. */
function valuesOf({ identified, ...others }: { readonly identified?: string | undefined }): object {
  return identified === undefined ? { ...others, identified } : { ...others, identified: identified === 'true' };
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

function columnsOf(projectId: string, properties: readonly string[]): readonly Column<Person>[] {
  const propertyColumns = properties.map((name): Column<Person> => ({
    id: `property ${name}`,
    header: <UserText text={name} charsMax={40} short />,
    label: plainText(name, 40),
    cell: ({ properties: all }) => (
      <span className="block truncate text-soft">
        <UserText text={Object.hasOwn(all, name) ? valueText(all[name]) : '–'} charsMax={100} short />
      </span>
    ),
  }));
  return [
    {
      id: 'name',
      header: 'Name',
      width: '20rem',
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
    ...propertyColumns,
    { id: 'created', header: 'First seen', width: '11rem', cell: (person) => <TimeText time={person.created_at} /> },
  ];
}
