import { Type, type Static, type TSchema } from 'typebox';
import { orNull } from './or-null.ts';

export const pageLimitMax = 1000;
export const pageLimitDefault = 100;

/** Query parameters of every paged list. */
export const pageQuerySchema = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: pageLimitMax,
      default: pageLimitDefault,
      description: 'Number of results per page.',
    }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 0,
      description: 'Index of the first result.',
    }),
  ),
});
export type PageQuery = Static<typeof pageQuerySchema>;

/** One page of a list; `next` and `previous` are absolute URLs. */
export interface Page<Item> {
  readonly count: number;
  readonly next: string | null;
  readonly previous: string | null;
  readonly results: readonly Item[];
}

export function pageSchema<Item extends TSchema>(item: Item) {
  return Type.Object({
    count: Type.Integer({ minimum: 0, description: 'Total number of records.' }),
    next: orNull(Type.String(), 'URL of the next page.'),
    previous: orNull(Type.String(), 'URL of the previous page.'),
    results: Type.Array(item),
  });
}

/** Returns limit and offset of a query, with defaults. */
export function pageOf(query: PageQuery): { limit: number; offset: number } {
  return { limit: query.limit ?? pageLimitDefault, offset: query.offset ?? 0 };
}

/**
 * Wraps one page of results.
 * @param url absolute URL of the request without query
 * @param rawQuery query string as sent; parameters other than limit and offset are kept in the links
 */
export function toPage<Item>(
  url: string,
  rawQuery: string,
  window: { readonly limit: number; readonly offset: number },
  count: number,
  results: readonly Item[],
): Page<Item> {
  const { limit, offset } = window;
  const next = offset + limit < count ? pageUrl(url, rawQuery, limit, offset + limit) : null;
  const previous = offset > 0 ? pageUrl(url, rawQuery, limit, Math.max(0, offset - limit)) : null;
  return { count, next, previous, results };
}

function pageUrl(url: string, rawQuery: string, limit: number, offset: number): string {
  const kept = rawQuery.split('&').filter((pair) => pair !== '' && !/^(limit|offset)(=|$)/.test(pair));
  const own = offset === 0 ? [`limit=${limit}`] : [`limit=${limit}`, `offset=${offset}`];
  return `${url}?${[...own, ...kept].join('&')}`;
}
