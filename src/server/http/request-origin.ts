import type { RouteRequest } from './route-request.ts';

/** Returns `https://host:port` as the client sees it: the site URL, otherwise the host of the request, which createHostCheck has accepted. */
export function requestOrigin(request: Pick<RouteRequest, 'host' | 'protocol'>, siteUrl: string): string {
  return siteUrl === '' ? `${request.protocol}://${request.host}` : siteUrl;
}

/** Returns the site URL without a trailing slash, for links. */
export function siteUrlOf(settings: { readonly siteUrl: string }): string {
  return settings.siteUrl.replace(/\/+$/, '');
}
