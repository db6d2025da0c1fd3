import { type Header, type Row as TableRow, type RowData, useTable } from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import {
  type CSSProperties,
  type KeyboardEvent as ReactKeyboardEvent,
  memo,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { isTyping } from '../shell/is-typing.ts';
import { classNames } from './class-names.ts';
import { ErrorState } from './error-state.tsx';
import { Loading } from './loading.tsx';
import { definitionOf, type Features, features } from './table-features.ts';

export interface Column<Row> {
  readonly id: string;
  readonly header: ReactNode;
  /** Label of the value on narrow screens; defaults to a header that is text. */
  readonly label?: string;
  readonly cell: (row: Row) => ReactNode;
  /** CSS width; columns without one share the remaining space. */
  readonly width?: string;
  /** Right-aligns numbers. */
  readonly align?: 'end';
  /** Shown in a last row below all others. */
  readonly total?: ReactNode;
  /** Makes the column sortable, within the rows loaded so far; null sorts last. */
  readonly sortBy?: (row: Row) => string | number | null;
}

export interface DataTableProps<Row> {
  /** Accessible name: "Dead letters". */
  readonly label: string;
  /** Must be constant or memoised: new columns re-render every cell. */
  readonly columns: readonly Column<Row>[];
  /** `undefined` while loading. Must be memoised like the columns. */
  readonly rows: readonly Row[] | undefined;
  readonly rowId: (row: Row) => string;
  /** Shown without rows: why it is empty and what to do. */
  readonly empty: ReactNode;
  /** The error of the last request; rows loaded earlier stay visible. */
  readonly error?: unknown;
  readonly onRetry?: () => void;
  /** Called on Enter or a click on a row. The first cell should contain a link or button that does the same. */
  readonly onOpen?: (row: Row) => void;
  /** More rows exist; `onMore` is called when the last loaded ones come into view. */
  readonly hasMore?: boolean;
  readonly onMore?: () => void;
  readonly isLoadingMore?: boolean;
  /** Row whose details are open. */
  readonly openId?: string;
  /** CSS height from which the rows scroll. */
  readonly maxHeight?: string;
}

/**
 * A table that renders only the rows in view; on narrow screens each row is a card. j and k move through rows, Enter opens one. It
 * also renders its loading, empty and error states.
 */
export function DataTable<Row extends RowData>(props: DataTableProps<Row>) {
  const { label, rows, error, onRetry, empty } = props;
  return (
    <div className="overflow-hidden rounded-lg border border-line bg-surface">
      {rows !== undefined && error !== undefined && error !== null && (
        <p role="alert" className="border-b border-line bg-warn-soft px-3 py-1.5 text-xs text-warn">
          These rows may be out of date: the last request failed. Retrying.
        </p>
      )}
      {rows === undefined && error !== undefined && error !== null && <ErrorState error={error} onRetry={onRetry} />}
      {rows === undefined && (error === undefined || error === null) && <Loading rows={8} label={`Loading ${label}`} />}
      {rows?.length === 0 && empty}
      {rows !== undefined && rows.length > 0 && <TableRows {...props} rows={rows} />}
    </div>
  );
}

const rowHeight = 41;
const overscan = 12;

type TableRowsProps<Row extends RowData> = DataTableProps<Row> & { readonly rows: readonly Row[] };

/** The table itself, once there are rows. */
function TableRows<Row extends RowData>(props: TableRowsProps<Row>) {
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
        style={{ '--columns': minWidthOf(columns) } as CSSProperties}
        className="w-full table-fixed border-separate border-spacing-0 text-left max-sm:block sm:min-w-(--columns)"
      >
        <colgroup>
          {columns.map(({ id, width }) => (
            <col key={id} style={{ width }} />
          ))}
        </colgroup>
        <thead className="max-sm:hidden">
          <tr aria-rowindex={1}>
            {headers.map((header, index) => (
              <TableHead key={header.id} header={header} column={columns[index]} />
            ))}
          </tr>
        </thead>
        <tbody className="max-sm:block">
          <Spacer height={above} />
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
          <Spacer height={below} />
        </tbody>
        <TotalRow columns={columns} />
      </table>
      {isLoadingMore === true && (
        <p role="status" className="px-3 py-2 text-xs text-soft">
          Loading more…
        </p>
      )}
    </div>
  );
}

/** Keeps columns without a width readable; a table wider than the screen scrolls inside its frame. */
function minWidthOf(columns: readonly { readonly width?: string }[]): string {
  return `calc(${columns.map(({ width }) => width ?? '14rem').join(' + ')})`;
}

/** Returns the sorted rows, the ones in view, and the keyboard handling. */
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
    // Rows beyond the view are already rendered, so the update can wait for the next frame.
    useFlushSync: false,
  });
  const virtual = virtualizer.getVirtualItems();
  const lastRendered = virtual.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore === true && isLoadingMore !== true && lastRendered >= rows.length - overscan) onMore?.();
  }, [hasMore, isLoadingMore, lastRendered, rows.length, onMore]);
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

/** On narrow screens a cell is a line of a card: label, then value. */
const cardCell =
  'max-sm:static max-sm:flex max-sm:border-0 max-sm:bg-transparent max-sm:px-0 max-sm:py-0.5 max-sm:data-label:before:w-28 max-sm:data-label:before:shrink-0 max-sm:data-label:before:pr-2 max-sm:data-label:before:wrap-anywhere max-sm:data-label:before:text-soft max-sm:data-label:before:content-[attr(data-label)]';

function labelOf({ label, header }: { readonly label?: string; readonly header: ReactNode }): string | undefined {
  return label ?? (typeof header === 'string' ? header : undefined);
}

type TotalColumn = Pick<Column<never>, 'id' | 'header' | 'label' | 'total' | 'align'>;

function TotalRow({ columns }: { readonly columns: readonly TotalColumn[] }) {
  if (columns.every(({ total }) => total === undefined)) return null;
  return (
    <tfoot className="max-sm:block">
      <tr className="max-sm:block max-sm:border-t max-sm:border-line max-sm:px-3 max-sm:py-2">
        {columns.map((column, index) => (
          <td
            key={column.id}
            data-label={index === 0 ? undefined : labelOf(column)}
            className={classNames(
              'sticky bottom-0 border-t border-line bg-sunken px-3 py-2 font-medium',
              column.align === 'end' && 'sm:text-right',
              cardCell,
            )}
          >
            {column.total}
          </td>
        ))}
      </tr>
    </tfoot>
  );
}

/** Takes the height of the rows that are not rendered. */
function Spacer({ height }: { readonly height: number }) {
  if (height <= 0) return null;
  return (
    <tr aria-hidden="true">
      <td style={{ height }} />
    </tr>
  );
}

interface TableBodyRowProps<Row extends RowData> {
  readonly row: TableRow<Features, Row>;
  readonly index: number;
  readonly columns: readonly Column<Row>[];
  readonly isActive: boolean;
  readonly isOpen: boolean;
  readonly measure: (element: HTMLElement | null) => void;
  /** A stable function, or `undefined` where rows cannot be opened. */
  readonly onOpen: ((row: Row) => void) | undefined;
}

/** Memoised, so that scrolling renders only the rows that come into view. */
const TableBodyRow = memo(BodyRow) as typeof BodyRow;

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
        if (onOpen !== undefined && !isControlOrSelection(event.target)) onOpen(row.original);
      }}
      className={classNames(
        'focus-visible:-outline-offset-2 max-sm:block max-sm:border-b max-sm:border-line max-sm:px-3 max-sm:py-2',
        onOpen !== undefined && 'cursor-pointer hover:bg-hover',
        isOpen && 'bg-accent-soft',
      )}
    >
      {columns.map((column, columnIndex) => (
        <td
          key={column.id}
          data-label={columnIndex === 0 ? undefined : labelOf(column)}
          className={classNames(
            'border-b border-line px-3 py-2 align-top',
            column.align === 'end' && 'sm:text-right',
            cardCell,
          )}
        >
          <div className="min-w-0 max-sm:flex-1">{column.cell(row.original)}</div>
        </td>
      ))}
    </tr>
  );
}

/** Clicks on controls inside a row and text selections do not open the row. */
function isControlOrSelection(target: EventTarget): boolean {
  const control = target instanceof Element && target.closest('a, button, input, select, label, textarea') !== null;
  return control || getSelection()?.isCollapsed === false;
}

interface TableHeadProps<Row extends RowData> {
  readonly header: Header<Features, Row>;
  readonly column: Column<Row> | undefined;
}

/** A column header; a button if the column is sortable. */
function TableHead<Row extends RowData>({ header, column }: TableHeadProps<Row>) {
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

interface RowKeysOptions {
  readonly count: number;
  readonly scrollRef: RefObject<HTMLElement | null>;
  readonly show: (index: number) => void;
  readonly open: (index: number) => void;
}

interface RowKeys {
  /** Row selected with the keyboard. */
  readonly active: number | undefined;
  readonly onKeyDown: (event: ReactKeyboardEvent<HTMLElement>) => void;
}

const steps: Readonly<Record<string, number>> = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 };

/** Moves through the rows with j and k, or the arrow keys once the table has the focus. Enter opens a row. */
function useRowKeys({ count, scrollRef, show, open }: RowKeysOptions): RowKeys {
  const [active, setActive] = useState<number>();
  const move = (step: number): void => {
    const next = active === undefined ? 0 : Math.min(count - 1, Math.max(0, active + step));
    setActive(next);
    show(next);
    const rowOf = () => scrollRef.current?.querySelector<HTMLElement>(`tr[data-index="${next}"]`);
    // Immediately if possible: the next key may arrive before the next frame, and Enter applies to the focused row.
    const rendered = rowOf();
    if (rendered) rendered.focus();
    else requestAnimationFrame(() => rowOf()?.focus());
  };
  const latest = useRef(move);
  latest.current = move;
  // Before paint: users may type as soon as they see the rows.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isElsewhere = event.target !== document.body && event.target !== document.getElementById('main');
      if (isElsewhere || isTyping(event) || (event.key !== 'j' && event.key !== 'k')) return;
      event.preventDefault();
      latest.current(steps[event.key] ?? 0);
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
  const onKeyDown = (event: ReactKeyboardEvent<HTMLElement>): void => {
    if (isTyping(event.nativeEvent)) return;
    const step = steps[event.key];
    const isOnRow = event.target instanceof HTMLTableRowElement;
    if (step !== undefined) {
      event.preventDefault();
      move(step);
    } else if (event.key === 'Enter' && isOnRow && active !== undefined) open(active);
  };
  return { active, onKeyDown };
}
