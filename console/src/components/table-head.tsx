import type { Header, RowData } from '@tanstack/react-table';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { classNames } from './class-names.ts';
import type { Column } from './data-table.tsx';
import type { Features } from './table-features.ts';

interface TableHeadProps<Row extends RowData> {
  readonly header: Header<Features, Row>;
  readonly column: Column<Row> | undefined;
}

/** Head of a column; a button where the column can be sorted. */
export function TableHead<Row extends RowData>({ header, column }: TableHeadProps<Row>) {
  const sorted = header.column.getIsSorted();
  const style = classNames(
    'sticky top-0 z-10 border-b border-line bg-sunken px-3 py-2 text-xs font-medium whitespace-nowrap text-soft',
    column?.align === 'end' && 'text-right',
  );
  if (!header.column.getCanSort()) {
    return (
      <th scope="col" className={style}>
        {column?.header}
      </th>
    );
  }
  const Arrow = sorted === 'desc' ? ArrowDown : ArrowUp;
  const order = sorted === false ? 'none' : sorted === 'asc' ? 'ascending' : 'descending';
  return (
    <th scope="col" aria-sort={order} className={style}>
      <button
        type="button"
        onClick={() => header.column.toggleSorting()}
        className={classNames(
          'flex items-center gap-1 hover:text-ink',
          column?.align === 'end' && 'ml-auto flex-row-reverse',
        )}
      >
        {column?.header}
        <Arrow aria-hidden="true" className={classNames('size-3.5', sorted === false && 'opacity-0')} />
      </button>
    </th>
  );
}
