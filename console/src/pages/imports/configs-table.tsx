import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { TimeText } from '../../components/time-text.tsx';
import type { PageRows } from '../../components/use-page-rows.ts';
import { UserText } from '../../components/user-text.tsx';
import type { ImportConfig } from './imports-query.ts';
import { sourceName } from './source-name.ts';

const to = '/projects/$projectId/imports/$configId';

interface ConfigsTableProps extends PageRows<ImportConfig> {
  readonly projectId: number;
  readonly empty: ReactNode;
}

export function ConfigsTable({ projectId, ...props }: ConfigsTableProps) {
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
      header: 'What is missing',
      cell: (row) =>
        row.error === '' ? (
          <span className="text-soft">nothing</span>
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
