import {
  infiniteQueryOptions,
  queryOptions,
  type InfiniteData,
  type QueryClient,
  type QueryKey,
} from '@tanstack/react-query';
import { request, type Query } from './request.ts';

/** Returns the path of a project's resource: `projectPath(1, 'plugin_configs')`. */
export function projectPath(projectId: number, rest: string): string {
  return `/api/projects/${projectId}/${rest}`;
}

/** Builds the query for a GET request. Its key is path and parameters, so identical requests are shared. */
export function apiQuery<Result>(path: string, query: Query = {}) {
  return queryOptions({
    queryKey: [path, query] as const,
    queryFn: ({ signal }) => request<Result>(path, { query, signal }),
  });
}

/** A page of a list; `next` is the URL of the next page. */
export interface NextPage<Item> {
  readonly next: string | null;
  readonly results: readonly Item[];
  readonly count?: number;
}

/** Builds the options of useInfiniteQuery for a list paged by offset or cursor. */
export function apiPages<Item, Page extends NextPage<Item> = NextPage<Item>>(path: string, query: Query = {}) {
  return infiniteQueryOptions<Page, Error, InfiniteData<Page, string | null>, QueryKey, string | null>({
    queryKey: [path, query, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      pageParam === null ? request<Page>(path, { query, signal }) : request<Page>(sameOrigin(pageParam), { signal }),
    initialPageParam: null,
    getNextPageParam: (last) => last.next,
  });
}

/** Prefetches the first page of a list while the page component is still loading. Does nothing when the list is cached. */
export function prefetchPages<Item>(client: QueryClient, pages: ReturnType<typeof apiPages<Item>>): void {
  if (client.getQueryState(pages.queryKey) === undefined) void client.prefetchInfiniteQuery(pages);
}

/** Returns the rows of all pages loaded so far. */
export function rowsOf<Item>(data: { readonly pages: readonly NextPage<Item>[] } | undefined): readonly Item[] {
  return data?.pages.flatMap((page) => page.results) ?? [];
}

/** Strips the origin of `next`, which may differ from the one this page was loaded from. */
function sameOrigin(next: string): string {
  const { pathname, search } = new URL(next, location.origin);
  return pathname + search;
}

/** Refetches every query at or below the path, after a change there. */
export function refresh(client: QueryClient, path: string): Promise<void> {
  const prefix = `${path.replace(/\/$/, '')}/`;
  return client.invalidateQueries({
    predicate: ({ queryKey: [key] }) => key === path || String(key).startsWith(prefix),
  });
}
