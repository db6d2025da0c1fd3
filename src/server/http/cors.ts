import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Any origin may send requests, since they come from our users' pages, and errors must be readable too. */
export function allowOrigin(request: FastifyRequest, reply: FastifyReply): void {
  const headers = originHeaders(request.headers);
  if (headers !== undefined) void reply.headers(headers);
}

/** `undefined` for requests that are not from a page. */
export function originHeaders(asked: IncomingHttpHeaders): Readonly<Record<string, string>> | undefined {
  const { origin } = asked;
  if (typeof origin !== 'string') return undefined;
  const wanted = asked['access-control-request-headers'];
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-allow-methods': 'GET, POST, OPTIONS',
    vary: 'origin',
    ...(typeof wanted === 'string' && { 'access-control-allow-headers': wanted }),
  };
}
