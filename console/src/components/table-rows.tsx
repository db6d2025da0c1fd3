import {
  createSortedRowModel,
  rowSortingFeature,
  tableFeatures,
  useTable,
  type ColumnDef,
  type Header,
  type Row as TableRow,
  type RowData,
} from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { useEffect, useMemo, useRef } from 'react';
import { classNames } from './class-names.ts';
import type { Column, DataTableProps } from './data-table.tsx';
import { useRowKeys } from './use-row-keys.ts';

const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() });
type Features = typeof features;

const rowHeight = 41;
const overscan = 12;

/** The table of DataTable once there are rows. */
export function TableRows<Row extends RowData>(props: DataTableProps<Row> & { readonly rows: readonly Row[] }) {
  const { label, columns, rows: data, rowId, onOpen, hasMore, onMore, isLoadingMore, openId } = props;
  const scrollRef = useRef<HTMLDivElement>(null);
  const definitions = useMemo(() => columns.map(definitionOf), [columns]);
  const table = useTable({
    features,
    columns: definitions,
    data,
    getRowId: rowId,
    enableMultiSort: false,
    sortDescFirst: false,
  });
  const { rows } = table.getRowModel();
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scrollRef.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan,
  });
  const items = virtualizer.getVirtualItems();
  const lastShown = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore === true && isLoadingMore !== true && lastShown >= rows.length - overscan) onMore?.();
  }, [hasMore, isLoadingMore, lastShown, rows.length, onMore]);
  const keys = useRowKeys({
    count: rows.length,
    scrollRef,
    show: (index) => virtualizer.scrollToIndex(index, { align: 'auto' }),
    open: (index) => {
      const row = rows[index]?.original;
      if (row !== undefined) onOpen?.(row);
    },
  });
  const above = items[0]?.start ?? 0;
  const below = virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <div
      ref={scrollRef}
      role="region"
      aria-label={label}
      tabIndex={0}
      onKeyDown={keys.onKeyDown}
      style={{ maxHeight: props.maxHeight ?? 'max(20rem, calc(100dvh - 15rem))' }}
      className="overflow-auto focus-visible:-outline-offset-2"
    >
      <table
        aria-rowcount={rows.length + 1}
        className="w-full min-w-max table-fixed border-separate border-spacing-0 text-left sm:min-w-0"
      >
        <colgroup>
          {columns.map(({ id, width }) => (
            <col key={id} style={{ width }} />
          ))}
        </colgroup>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id} aria-rowindex={1}>
              {group.headers.map((header, index) => (
                <Head key={header.id} header={header} column={columns[index]} />
              ))}
            </tr>
          ))}
        </thead>
        <tbody>
          <Space height={above} />
          {items.map(({ index }) => {
            const row = rows[index];
            if (row === undefined) return null;
            return (
              <BodyRow
                key={row.id}
                row={row}
                index={index}
                columns={columns}
                isActive={keys.active === index}
                isOpen={openId === row.id}
                measure={virtualizer.measureElement}
                onOpen={onOpen}
              />
            );
          })}
          <Space height={below} />
        </tbody>
      </table>
      {isLoadingMore === true && (
        <p role="status" className="px-3 py-2 text-xs text-soft">
          Loading more…
        </p>
      )}
    </div>
  );
}

function definitionOf<Row extends RowData>({ id, sortBy }: Column<Row>): ColumnDef<Features, Row> {
  return {
    id,
    accessorFn: sortBy ?? (() => null),
    enableSorting: sortBy !== undefined,
    sortFn: (left, right) => compare(left.getValue(id), right.getValue(id)),
  };
}

function compare(left: unknown, right: unknown): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  return String(left).localeCompare(String(right));
}

interface HeadProps<Row extends RowData> {
  readonly header: Header<Features, Row>;
  readonly column: Column<Row> | undefined;
}

function Head<Row extends RowData>({ header, column }: HeadProps<Row>) {
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
          'inline-flex items-center gap-1 hover:text-ink',
          column?.align === 'end' && 'flex-row-reverse',
        )}
      >
        {column?.header}
        <Arrow aria-hidden="true" className={classNames('size-3.5', sorted === false && 'opacity-0')} />
      </button>
    </th>
  );
}

interface BodyRowProps<Row extends RowData> {
  readonly row: TableRow<Features, Row>;
  readonly index: number;
  readonly columns: readonly Column<Row>[];
  readonly isActive: boolean;
  readonly isOpen: boolean;
  readonly measure: (element: HTMLElement | null) => void;
  readonly onOpen: ((row: Row) => void) | undefined;
}

function BodyRow<Row extends RowData>({ row, index, columns, isActive, isOpen, measure, onOpen }: BodyRowProps<Row>) {
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

/** As high as the rows that are not drawn. */
function Space({ height }: { readonly height: number }) {
  if (height <= 0) return null;
  return (
    <tr aria-hidden="true">
      <td style={{ height }} />
    </tr>
  );
}
