import type { ApiRequest } from '../http/api-route.ts';

/** Where the page after begins, which is older. */
export function nextUrl(request: Pick<ApiRequest, 'url' | 'rawQuery'>, cursor: string): string {
  const query = new URLSearchParams(request.rawQuery);
  // A key in the query must not spread through links.
  query.delete('personal_api_key');
  query.set('cursor', cursor);
  return `${request.url}?${query}`;
}
