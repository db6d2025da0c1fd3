import {
  infiniteQueryOptions,
  queryOptions,
  type InfiniteData,
  type QueryClient,
  type QueryKey,
} from '@tanstack/react-query';
import { request, type Query } from './request.ts';

/** Path of a project's resource: `projectPath(1, 'plugin_configs')`. */
export function projectPath(projectId: number, rest: string): string {
  return `/api/projects/${projectId}/${rest}`;
}

/** GET of a path as a query; its key is the path and the query, so equal requests are one. */
export function apiQuery<Result>(path: string, query: Query = {}) {
  return queryOptions({
    queryKey: [path, query] as const,
    queryFn: ({ signal }) => request<Result>(path, { query, signal }),
  });
}

/** A list that names its next page in `next`, an address. */
export interface NextPage<Item> {
  readonly next: string | null;
  readonly results: readonly Item[];
  readonly count?: number;
}

/** A paged list of any kind (by offset or by cursor), page after page: for useInfiniteQuery. */
export function apiPages<Item, Page extends NextPage<Item> = NextPage<Item>>(path: string, query: Query = {}) {
  return infiniteQueryOptions<Page, Error, InfiniteData<Page, string | null>, QueryKey, string | null>({
    queryKey: [path, query, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      pageParam === null ? request<Page>(path, { query, signal }) : request<Page>(sameOrigin(pageParam), { signal }),
    initialPageParam: null,
    getNextPageParam: (last) => last.next,
  });
}

/** Begins to load the first page of a list while what shows it is still loaded; what is there already stays as it is. */
export function loadAhead<Item>(client: QueryClient, pages: ReturnType<typeof apiPages<Item>>): void {
  if (client.getQueryState(pages.queryKey) === undefined) void client.prefetchInfiniteQuery(pages);
}

/** All rows of the pages so far. */
export function rowsOf<Item>(data: { readonly pages: readonly NextPage<Item>[] } | undefined): readonly Item[] {
  return data?.pages.flatMap((page) => page.results) ?? [];
}

/** `next` is absolute and may name the site by another address than the one this page came from. */
function sameOrigin(next: string): string {
  const { pathname, search } = new URL(next, location.origin);
  return pathname + search;
}

/** Asks again for all that lies at or below the path: after a change of it. */
export function refresh(client: QueryClient, path: string): Promise<void> {
  const beneath = `${path.replace(/\/$/, '')}/`;
  return client.invalidateQueries({
    predicate: ({ queryKey: [key] }) => key === path || String(key).startsWith(beneath),
  });
}
