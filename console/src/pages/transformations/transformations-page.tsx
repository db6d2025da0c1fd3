import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Plus, Trash2 } from 'lucide-react';
import { useEffect, useMemo } from 'react';
import { useAnnounce } from '../../components/announcer.tsx';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { type Filter, FilterBar } from '../../components/filter-bar.tsx';
import { Loading } from '../../components/loading.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { plainText } from '../../components/plain-text.ts';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { AddTransformation } from './add-transformation.tsx';
import { ChainList } from './chain-list.tsx';
import { filtered } from './chain-order.ts';
import { binQuery, chainQuery, pluginInfo, type Transformation } from './transformation-queries.ts';
import type { AddWay } from './transformations-search.ts';
import { useChainChanges } from './use-chain-changes.ts';

const route = getRouteApi('/projects/$projectId/transformations');
const pollMs = 10_000;

const filters = [
  { kind: 'text', name: 'q', label: 'Search transformations' },
  {
    kind: 'choice',
    name: 'state',
    label: 'Any state',
    choices: [
      { value: 'on', label: 'Enabled' },
      { value: 'off', label: 'Disabled' },
      { value: 'failing', label: 'Failing' },
    ],
  },
] as const satisfies readonly Filter[];

/** The chain of transformations that run on every event before it is stored. */
export function TransformationsPage() {
  const { q, state, bin, add } = route.useSearch();
  const navigate = route.useNavigate();
  const canEdit = useHasRole('editor');
  const toAdd = (next: AddWay | undefined): void => void navigate({ search: (before) => ({ ...before, add: next }) });
  const isBin = bin === true;
  return (
    <>
      <PageHeader
        title={isBin ? 'Bin' : 'Transformations'}
        description={
          isBin
            ? 'Transformations removed from the chain. They do not run. Restored ones are disabled.'
            : 'Enabled transformations run on every event from top to bottom before it is stored.'
        }
        actions={
          <>
            <Button
              icon={isBin ? undefined : <Trash2 aria-hidden="true" className="size-4" />}
              onClick={() => void navigate({ search: isBin ? {} : { bin: true } })}
            >
              {isBin ? 'Back to chain' : 'Bin'}
            </Button>
            {canEdit && !isBin && (
              <Button
                kind="primary"
                icon={<Plus aria-hidden="true" className="size-4" />}
                onClick={() => toAdd('built-in')}
              >
                Add transformation
              </Button>
            )}
          </>
        }
      />
      {!isBin && (
        <FilterBar
          filters={filters}
          values={{ q, state }}
          onChange={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
        />
      )}
      {isBin ? <BinList /> : <Chain q={q} state={state} onAdd={() => toAdd('built-in')} />}
      {add !== undefined && <AddTransformation way={add} onWay={toAdd} onClose={() => toAdd(undefined)} />}
    </>
  );
}

interface ChainProps {
  readonly q: string | undefined;
  readonly state: 'on' | 'off' | 'failing' | undefined;
  readonly onAdd: () => void;
}

function Chain({ q, state, onAdd }: ChainProps) {
  const { id } = useProject();
  const canEdit = useHasRole('editor');
  const announce = useAnnounce();
  const chain = useQuery({ ...chainQuery(id), refetchInterval: pollMs });
  const all = chain.data?.results;
  const rows = useMemo(() => all && filtered(all, { q, state }), [all, q, state]);
  const count = rows?.length;
  const isFiltered = q !== undefined || state !== undefined;
  useEffect(() => {
    if (isFiltered && count !== undefined) announce(`${count} transformations`);
  }, [announce, count, isFiltered]);
  if (all === undefined || rows === undefined) {
    return (
      <div className="rounded-lg border border-line bg-surface">
        {chain.error === null ? (
          <Loading rows={6} label="Loading transformations" />
        ) : (
          <ErrorState error={chain.error} onRetry={() => void chain.refetch()} />
        )}
      </div>
    );
  }
  if (rows.length > 0) return <ChainList rows={rows} all={all} />;
  return (
    <div className="rounded-lg border border-line bg-surface">
      {all.length > 0 ? (
        <EmptyState title="No matching transformations">Clear the filters, or look in the bin.</EmptyState>
      ) : (
        <EmptyState
          title="No transformations"
          action={
            canEdit && (
              <Button kind="primary" onClick={onAdd}>
                Add transformation
              </Button>
            )
          }
        >
          Events are stored as sent. A transformation changes or drops events before they are stored, for example to add
          a country, remove personal data or drop bots. Use a built-in one, install one or write your own.
        </EmptyState>
      )}
    </div>
  );
}

/** Transformations in the bin. */
function BinList() {
  const { id } = useProject();
  const canEdit = useHasRole('editor');
  const bin = useQuery(binQuery(id));
  const { restore } = useChainChanges(id);
  const columns = useMemo(() => columnsOf(canEdit ? restore : undefined), [canEdit, restore]);
  return (
    <DataTable
      label="Transformations in the bin"
      columns={columns}
      rows={bin.data?.results}
      rowId={(row) => String(row.id)}
      error={bin.error}
      onRetry={() => void bin.refetch()}
      empty={<EmptyState title="The bin is empty">Transformations removed from the chain appear here.</EmptyState>}
    />
  );
}

function columnsOf(restore: ((row: Transformation) => void) | undefined): readonly Column<Transformation>[] {
  return [
    {
      id: 'name',
      header: 'Transformation',
      sortBy: (row) => row.name.toLowerCase(),
      cell: (row) => (
        <>
          <span className="font-medium">
            <UserText text={row.name} charsMax={100} short />
          </span>
          <span className="block text-xs text-soft">
            <UserText text={pluginInfo(row).name} charsMax={80} short />
          </span>
        </>
      ),
    },
    {
      id: 'since',
      header: 'Changed',
      width: '9rem',
      sortBy: (row) => row.updated_at,
      cell: (row) => <TimeText time={row.updated_at} form="ago" />,
    },
    {
      id: 'restore',
      header: <span className="sr-only">Restore</span>,
      width: '7rem',
      cell: (row) =>
        restore !== undefined && (
          <Button size="small" aria-label={`Restore ${plainText(row.name)}`} onClick={() => restore(row)}>
            Restore
          </Button>
        ),
    },
  ];
}
