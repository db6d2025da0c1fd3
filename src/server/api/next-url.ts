import type { ApiRequest } from '../http/api-route.ts';

/** URL of the next page, with older entries. */
export function nextUrl(request: Pick<ApiRequest, 'url' | 'rawQuery'>, cursor: string): string {
  const query = new URLSearchParams(request.rawQuery);
  // A key in the query must not be copied into links.
  query.delete('personal_api_key');
  query.set('cursor', cursor);
  return `${request.url}?${query}`;
}
