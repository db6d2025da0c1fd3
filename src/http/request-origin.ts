import type { FastifyRequest } from 'fastify';

const hostForm = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/i;

/** `https://host:port` as the client sees it: the configured site URL, else what the request was sent to. */
export function requestOrigin(request: FastifyRequest, siteUrl: string): string {
  if (siteUrl !== '') return siteUrl;
  const host = hostForm.test(request.host) ? request.host : 'localhost';
  return `${request.protocol}://${host}`;
}

/** The site URL without trailing slash, as links are built from it. */
export function siteUrlOf(settings: { readonly siteUrl: string }): string {
  return settings.siteUrl.replace(/\/+$/, '');
}
