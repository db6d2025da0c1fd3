import type { RowData } from '@tanstack/react-table';
import type { ReactNode } from 'react';
import { ErrorState } from './error-state.tsx';
import { Loading } from './loading.tsx';
import { TableRows } from './table-rows.tsx';

export interface Column<Row> {
  readonly id: string;
  readonly header: ReactNode;
  readonly cell: (row: Row) => ReactNode;
  /** CSS width; columns without one share what is left. */
  readonly width?: string;
  /** Numbers stand at the end. */
  readonly align?: 'end';
  /** Makes the head sort the rows that are loaded; null comes last. */
  readonly sortBy?: (row: Row) => string | number | null;
}

export interface DataTableProps<Row> {
  /** What the rows are, for screen readers: "Dead letters". */
  readonly label: string;
  /** Outside of the component or memoised: new columns make every cell anew. */
  readonly columns: readonly Column<Row>[];
  /** undefined: still loading. Memoised, as the columns. */
  readonly rows: readonly Row[] | undefined;
  readonly rowId: (row: Row) => string;
  /** Stands there instead of no rows: why, and how some come to be. */
  readonly empty: ReactNode;
  /** Why there are no rows, or no fresh ones. */
  readonly error?: unknown;
  readonly onRetry?: () => void;
  /** Enter on a row, or a click on it. The first cell should hold a link or a button that does the same. */
  readonly onOpen?: (row: Row) => void;
  /** There are more rows than these: asked for when the last ones come into view. */
  readonly hasMore?: boolean;
  readonly onMore?: () => void;
  readonly isLoadingMore?: boolean;
  /** Row that is open beside the table. */
  readonly openId?: string;
  /** CSS height that the rows may take before they scroll. */
  readonly maxHeight?: string;
}

/**
 * A table that draws only the rows in view. j and k go through them, Enter opens one. While loading, without rows and after an
 * error it says so in its own place.
 */
export function DataTable<Row extends RowData>(props: DataTableProps<Row>) {
  const { label, rows, error, onRetry, empty } = props;
  return (
    <div className="overflow-hidden rounded-lg border border-line bg-surface">
      {rows !== undefined && error !== undefined && error !== null && (
        <p role="alert" className="border-b border-line bg-warn-soft px-3 py-1.5 text-xs text-warn">
          These rows are not fresh: the last request failed. It is tried again.
        </p>
      )}
      {rows === undefined && error !== undefined && error !== null && <ErrorState error={error} onRetry={onRetry} />}
      {rows === undefined && (error === undefined || error === null) && <Loading rows={8} label={`Loading ${label}`} />}
      {rows?.length === 0 && empty}
      {rows !== undefined && rows.length > 0 && <TableRows {...props} rows={rows} />}
    </div>
  );
}
