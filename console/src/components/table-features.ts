import {
  createSortedRowModel,
  rowSortingFeature,
  tableFeatures,
  type ColumnDef,
  type RowData,
} from '@tanstack/react-table';
import type { Column } from './data-table.tsx';

/** The features of TanStack Table that DataTable uses. */
export const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() });
export type Features = typeof features;

export function definitionOf<Row extends RowData>({ id, sortBy }: Column<Row>): ColumnDef<Features, Row> {
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
