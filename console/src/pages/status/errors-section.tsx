import { DataTable, type Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { NumberText } from '../../components/number-text.tsx';
import type { Status } from './status-query.ts';

type ErrorCount = Status['errors'][number];

const columns: readonly Column<ErrorCount>[] = [
  { id: 'component', header: 'Where', sortBy: (row) => row.component, cell: (row) => row.component },
  { id: 'type', header: 'Error', sortBy: (row) => row.error_type, cell: (row) => <code>{row.error_type}</code> },
  {
    id: 'minute',
    header: 'Last minute',
    align: 'end',
    width: '8rem',
    sortBy: (row) => row.last_minute,
    cell: (row) => <NumberText value={row.last_minute} />,
  },
  {
    id: 'total',
    header: 'Since the start',
    align: 'end',
    width: '9rem',
    sortBy: (row) => row.total,
    cell: (row) => <NumberText value={row.total} />,
  },
];

export function ErrorsSection({ errors }: { readonly errors: readonly ErrorCount[] }) {
  return (
    <section aria-label="Errors" className="flex flex-col gap-2">
      <h2 className="text-sm font-semibold">Errors</h2>
      <DataTable
        label="Errors"
        columns={columns}
        rows={errors}
        rowId={(row) => `${row.component} ${row.error_type}`}
        empty={<EmptyState title="No errors since the service started" />}
      />
    </section>
  );
}
