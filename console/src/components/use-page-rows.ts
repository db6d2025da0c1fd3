import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import { useMemo } from 'react';
import { rowsOf, type NextPage } from '../api/queries.ts';
import type { DataTableProps } from './data-table.tsx';

/** Props of a DataTable that shows a paged list. */
export type PageRows<Row> = Required<
  Pick<DataTableProps<Row>, 'rows' | 'error' | 'onRetry' | 'hasMore' | 'onMore' | 'isLoadingMore'>
>;

/** Turns the useInfiniteQuery result of `apiPages` into props for a DataTable. */
export function usePageRows<Row>(query: UseInfiniteQueryResult<InfiniteData<NextPage<Row>, unknown>>): PageRows<Row> {
  const { data } = query;
  const rows = useMemo(() => data && rowsOf(data), [data]);
  return {
    rows,
    error: query.error,
    onRetry: () => void query.refetch(),
    hasMore: query.hasNextPage,
    onMore: () => void query.fetchNextPage(),
    isLoadingMore: query.isFetchingNextPage,
  };
}
