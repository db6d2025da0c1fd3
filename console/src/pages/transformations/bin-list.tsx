import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Button } from '../../components/button.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useMay, useProject } from '../../shell/project-context.tsx';
import { binQuery, pluginInfo, type Transformation } from './transformation-queries.ts';
import { useChainChanges } from './use-chain-changes.ts';
import { plainText } from '../../components/plain-text.ts';

/** Transformations that were taken out of the chain. */
export function BinList() {
  const { id } = useProject();
  const mayEdit = useMay('editor');
  const bin = useQuery(binQuery(id));
  const { restore } = useChainChanges(id);
  const columns = useMemo(() => columnsOf(mayEdit ? restore : undefined), [mayEdit, restore]);
  return (
    <DataTable
      label="Transformations in the bin"
      columns={columns}
      rows={bin.data?.results}
      rowId={(row) => String(row.id)}
      error={bin.error}
      onRetry={() => void bin.refetch()}
      empty={
        <EmptyState title="The bin is empty">What is taken out of the chain stands here and can come back.</EmptyState>
      }
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
