import type { Row as TableRow, RowData } from '@tanstack/react-table';
import { memo } from 'react';
import { classNames } from './class-names.ts';
import type { Column } from './data-table.tsx';
import type { Features } from './table-features.ts';

interface TableBodyRowProps<Row extends RowData> {
  readonly row: TableRow<Features, Row>;
  readonly index: number;
  readonly columns: readonly Column<Row>[];
  readonly isActive: boolean;
  readonly isOpen: boolean;
  readonly measure: (element: HTMLElement | null) => void;
  /** Always the same function, or undefined where rows cannot be opened. */
  readonly onOpen: ((row: Row) => void) | undefined;
}

/** Scrolling draws only the rows that come into view: those that stay are not looked at. */
export const TableBodyRow = memo(BodyRow) as typeof BodyRow;

function BodyRow<Row extends RowData>({
  row,
  index,
  columns,
  isActive,
  isOpen,
  measure,
  onOpen,
}: TableBodyRowProps<Row>) {
  return (
    <tr
      ref={measure}
      data-index={index}
      aria-rowindex={index + 2}
      aria-current={isOpen || undefined}
      tabIndex={isActive ? 0 : -1}
      onClick={(event) => {
        if (onOpen !== undefined && !isOwnControl(event.target)) onOpen(row.original);
      }}
      className={classNames(
        'focus-visible:-outline-offset-2',
        onOpen !== undefined && 'cursor-pointer hover:bg-hover',
        isOpen && 'bg-accent-soft',
      )}
    >
      {columns.map(({ id, cell, align }) => (
        <td
          key={id}
          className={classNames('border-b border-line px-3 py-2 align-top', align === 'end' && 'text-right')}
        >
          {cell(row.original)}
        </td>
      ))}
    </tr>
  );
}

/** A click on a link, a button or a field in a row means that, not the row; neither does marking text. */
function isOwnControl(target: EventTarget): boolean {
  const control = target instanceof Element && target.closest('a, button, input, select, label, textarea') !== null;
  return control || getSelection()?.isCollapsed === false;
}
