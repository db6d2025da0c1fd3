import type { FastifyRequest } from 'fastify';
import { ApiError } from '../contract/errors.ts';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * A browser sends the session cookie by itself, so a change must come from our own pages. `Sec-Fetch-Site` says so where
 * the browser sends it, `Origin` elsewhere; a request with neither is refused.
 * @throws ApiError permission_denied
 */
export function checkSameOrigin(request: FastifyRequest, siteUrl: string): void {
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

function hasOwnOrigin(request: FastifyRequest, siteUrl: string): boolean {
  const { origin, host } = request.headers;
  if (origin === undefined || !URL.canParse(origin)) return false;
  const sender = new URL(origin).host;
  return sender === host || (siteUrl !== '' && sender === new URL(siteUrl).host);
}
