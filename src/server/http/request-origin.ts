import type { RouteRequest } from './route-request.ts';

/** `https://host:port` as the client sees it: the configured site URL, else what the request was sent to and createHostCheck let in. */
export function requestOrigin(request: Pick<RouteRequest, 'host' | 'protocol'>, siteUrl: string): string {
  return siteUrl === '' ? `${request.protocol}://${request.host}` : siteUrl;
}

/** The site URL without trailing slash, as links are built from it. */
export function siteUrlOf(settings: { readonly siteUrl: string }): string {
  return settings.siteUrl.replace(/\/+$/, '');
}
