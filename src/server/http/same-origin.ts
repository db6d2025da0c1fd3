import { ApiError } from '../../wire/contract/errors.ts';
import type { RouteRequest } from './route-request.ts';

type OriginOf = Pick<RouteRequest, 'method' | 'headers' | 'protocol'>;

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Checks that a change comes from our own pages, since browsers send the session cookie automatically. Uses `Sec-Fetch-Site` where
 * the browser sends it, otherwise `Origin`; a request with neither is refused.
 * @throws ApiError permission_denied
 */
export function checkSameOrigin(request: OriginOf, siteUrl: string): void {
  if (safeMethods.has(request.method)) return;
  const site = request.headers['sec-fetch-site'];
  const same = site === undefined ? hasOwnOrigin(request, siteUrl) : site === 'same-origin';
  if (same) return;
  throw new ApiError(
    'permission_denied',
    'Expected a request from a page of this service (same origin), as it carries a session cookie. ' +
      'Programs use a personal API key in the Authorization header instead.',
  );
}

function hasOwnOrigin(request: OriginOf, siteUrl: string): boolean {
  const sender = hostOf(request.headers.origin);
  if (sender === undefined) return false;
  return sender === hostOf(`${request.protocol}://${request.headers.host}`) || sender === hostOf(siteUrl);
}

/** Host and port, without the port that the scheme implies. The scheme itself may differ behind a proxy. */
function hostOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).host : undefined;
}
