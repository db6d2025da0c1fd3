import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { type ReactNode, useMemo } from 'react';
import { rowsOf } from '../../api/queries.ts';
import { buttonStyle } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { type Filter, FilterBar } from '../../components/filter-bar.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { type PageRows, usePageRows } from '../../components/use-page-rows.ts';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { configsQuery, type ImportConfig, runsQuery, sourcesQuery } from './imports-query.ts';
import { importRunStates } from '../../../../src/wire/contract/import-run-states.ts';
import { RunsTable } from './runs-table.tsx';
import { SchedulesList } from './schedules-list.tsx';
import { sourceName } from './source-name.ts';

const route = getRouteApi('/projects/$projectId/imports');
const pollMs = 5_000;

/** Runs of all imports, the imports and their schedules. */
export function ImportsPage() {
  const { tab = 'runs' } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <PageHeader
        title="Imports"
        description="Import history from files, databases and other tools. Each run is checked before loading, verified afterwards and can be undone."
        actions={<NewImport />}
      />
      <Tabs
        tabs={[
          { value: 'runs', label: 'Runs' },
          { value: 'imports', label: 'Imports' },
          { value: 'schedules', label: 'Schedules' },
        ]}
        value={tab}
        onChange={(next) => void navigate({ search: next === 'runs' ? {} : { tab: next } })}
      >
        {tab === 'runs' && <Runs />}
        {tab === 'imports' && <Configs />}
        {tab === 'schedules' && <SchedulesList />}
      </Tabs>
    </>
  );
}

function NewImport() {
  const { id } = useProject();
  if (!useHasRole('editor')) return null;
  return (
    <Link
      to="/projects/$projectId/imports/new"
      params={{ projectId: String(id) }}
      search={{}}
      className={buttonStyle('primary')}
    >
      <Plus aria-hidden="true" className="size-4" /> New import
    </Link>
  );
}

function Runs() {
  const { id } = useProject();
  const { state, source, config } = route.useSearch();
  const navigate = route.useNavigate();
  const filter = { ...(state && { state }), ...(source && { source }), ...(config && { config }) };
  const runs = useInfiniteQuery({ ...runsQuery(id, filter), refetchInterval: pollMs });
  const configs = useInfiniteQuery(configsQuery(id));
  const sources = useQuery(sourcesQuery(id));
  const table = usePageRows(runs);
  const byState = runs.data?.pages[0]?.by_state;
  const filters = useMemo(
    () => filtersOf(byState, sources.data?.results ?? [], rowsOf(configs.data)),
    [byState, sources.data, configs.data],
  );
  return (
    <>
      <FilterBar
        filters={filters}
        values={{ state, source, config }}
        onChange={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
      />
      <RunsTable projectId={id} {...table} empty={<NoRuns filtered={Object.keys(filter).length > 0} />} />
    </>
  );
}

function filtersOf(
  byState: Readonly<Record<string, number>> | undefined,
  sources: readonly { readonly slug: string; readonly name: string }[],
  configs: readonly { readonly id: number; readonly name: string }[],
) {
  const count = (value: string): string =>
    byState?.[value] === undefined ? '' : ` (${byState[value].toLocaleString('en')})`;
  return [
    {
      kind: 'choice',
      name: 'state',
      label: 'Any state',
      choices: importRunStates.map((value) => ({ value, label: value + count(value) })),
    },
    {
      kind: 'choice',
      name: 'source',
      label: 'Any source',
      choices: sources.map(({ slug, name }) => ({ value: slug, label: name })),
    },
    {
      kind: 'choice',
      name: 'config',
      label: 'Any import',
      choices: configs.map(({ id, name }) => ({ value: String(id), label: `${name.slice(0, 60)} (${id})` })),
    },
  ] as const satisfies readonly Filter[];
}

function NoRuns({ filtered }: { readonly filtered: boolean }) {
  if (filtered) return <EmptyState title="No matching runs">Clear the filters to see all runs.</EmptyState>;
  return (
    <EmptyState title="No imports yet" action={<NewImport />}>
      Select a source, preview its first records as events, and start the import when the check has passed.
    </EmptyState>
  );
}

function Configs() {
  const { id } = useProject();
  const configs = useInfiniteQuery(configsQuery(id));
  const table = usePageRows(configs);
  return (
    <ConfigsTable
      projectId={id}
      {...table}
      empty={
        <EmptyState title="No imports" action={<NewImport />}>
          An import is a source with its settings, which you can run repeatedly.
        </EmptyState>
      }
    />
  );
}

const to = '/projects/$projectId/imports/$configId';

interface ConfigsTableProps extends PageRows<ImportConfig> {
  readonly projectId: number;
  readonly empty: ReactNode;
}

function ConfigsTable({ projectId, ...props }: ConfigsTableProps) {
  const navigate = useNavigate();
  const columns = useMemo(() => columnsOf(projectId), [projectId]);
  return (
    <DataTable
      {...props}
      label="Imports"
      columns={columns}
      rowId={(row) => String(row.id)}
      onOpen={(row) => void navigate({ to, params: paramsOf(projectId, row.id) })}
    />
  );
}

function paramsOf(projectId: number, configId: number) {
  return { projectId: String(projectId), configId: String(configId) };
}

function columnsOf(projectId: number): readonly Column<ImportConfig>[] {
  return [
    {
      id: 'name',
      header: 'Import',
      sortBy: (row) => row.name.toLowerCase(),
      cell: (row) => (
        <Link to={to} params={paramsOf(projectId, row.id)} className="font-medium hover:underline">
          <UserText text={row.name} charsMax={80} short />
        </Link>
      ),
    },
    { id: 'source', header: 'Source', width: '12rem', cell: (row) => <UserText text={sourceName(row)} short /> },
    {
      id: 'error',
      header: 'Problem',
      cell: (row) =>
        row.error === '' ? (
          <span className="text-soft">none</span>
        ) : (
          <span className="text-danger">
            <UserText text={row.error} charsMax={160} short />
          </span>
        ),
    },
    {
      id: 'changed',
      header: 'Changed',
      width: '8rem',
      sortBy: (row) => row.updated_at,
      cell: (row) => <TimeText time={row.updated_at} form="ago" />,
    },
  ];
}
