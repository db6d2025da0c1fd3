import { useTable, type RowData } from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef } from 'react';
import type { DataTableProps } from './data-table.tsx';
import { TableBodyRow } from './table-body-row.tsx';
import { definitionOf, features } from './table-features.ts';
import { TableHead } from './table-head.tsx';
import { useRowKeys } from './use-row-keys.ts';

const rowHeight = 41;
const overscan = 12;

type TableRowsProps<Row extends RowData> = DataTableProps<Row> & { readonly rows: readonly Row[] };

/** The table of DataTable once there are rows. */
export function TableRows<Row extends RowData>(props: TableRowsProps<Row>) {
  const { label, columns, isLoadingMore, openId, maxHeight } = props;
  const { scrollRef, headers, rows, items, measure, above, below, keys, open } = useTableRows(props);
  return (
    <div
      ref={scrollRef}
      role="region"
      aria-label={label}
      tabIndex={0}
      onKeyDown={keys.onKeyDown}
      style={{ maxHeight: maxHeight ?? 'max(20rem, calc(100dvh - 15rem))' }}
      className="overflow-auto focus-visible:-outline-offset-2"
    >
      <table
        aria-rowcount={props.hasMore === true ? -1 : rows.length + 1}
        style={{ minWidth: minWidthOf(columns) }}
        className="w-full table-fixed border-separate border-spacing-0 text-left"
      >
        <colgroup>
          {columns.map(({ id, width }) => (
            <col key={id} style={{ width }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {headers.map((header, index) => (
              <TableHead key={header.id} header={header} column={columns[index]} />
            ))}
          </tr>
        </thead>
        <tbody>
          <Space height={above} />
          {items.map(({ index, row }) => (
            <TableBodyRow
              key={row.id}
              row={row}
              index={index}
              columns={columns}
              isActive={keys.active === index}
              isOpen={openId === row.id}
              measure={measure}
              onOpen={open}
            />
          ))}
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

/** Columns that share what is left keep a width that can be read; on narrow screens the table scrolls in its frame. */
function minWidthOf(columns: readonly { readonly width?: string }[]): string {
  return `calc(${columns.map(({ width }) => width ?? '14rem').join(' + ')})`;
}

/** Sorted rows, those of them in view, and the keys that go through them. */
function useTableRows<Row extends RowData>(props: TableRowsProps<Row>) {
  const { columns, rows: data, rowId, onOpen, hasMore, onMore, isLoadingMore } = props;
  const scrollRef = useRef<HTMLDivElement>(null);
  const definitions = useMemo(() => columns.map(definitionOf), [columns]);
  const options = { features, columns: definitions, data, getRowId: rowId };
  const table = useTable({ ...options, enableMultiSort: false, sortDescFirst: false });
  const { rows } = table.getRowModel();
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scrollRef.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan,
    // Rows beyond those in view are drawn already: there is time until the next frame.
    useFlushSync: false,
  });
  const virtual = virtualizer.getVirtualItems();
  const lastShown = virtual.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore === true && isLoadingMore !== true && lastShown >= rows.length - overscan) onMore?.();
  }, [hasMore, isLoadingMore, lastShown, rows.length, onMore]);
  const latestOpen = useRef(onOpen);
  latestOpen.current = onOpen;
  const canOpen = onOpen !== undefined;
  const open = useMemo(() => (canOpen ? (row: Row) => latestOpen.current?.(row) : undefined), [canOpen]);
  const keys = useRowKeys({
    count: rows.length,
    scrollRef,
    show: (index) => virtualizer.scrollToIndex(index, { align: 'auto' }),
    open: (index) => {
      const row = rows[index]?.original;
      if (row !== undefined) open?.(row);
    },
  });
  return {
    scrollRef,
    headers: table.getHeaderGroups()[0]?.headers ?? [],
    rows,
    items: virtual.flatMap(({ index }) => {
      const row = rows[index];
      return row === undefined ? [] : [{ index, row }];
    }),
    measure: virtualizer.measureElement,
    above: virtual[0]?.start ?? 0,
    below: virtualizer.getTotalSize() - (virtual.at(-1)?.end ?? 0),
    keys,
    open,
  };
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
