import type { FastifyReply, FastifyRequest } from 'fastify';

/** Browsers ask from the pages of our users: any origin may ask, and errors must be readable too. */
export function allowOrigin(request: FastifyRequest, reply: FastifyReply): void {
  const { origin } = request.headers;
  if (typeof origin !== 'string') return;
  void reply.header('access-control-allow-origin', origin);
  void reply.header('access-control-allow-credentials', 'true');
  void reply.header('access-control-allow-methods', 'GET, POST, OPTIONS');
  void reply.header('vary', 'origin');
  const asked = request.headers['access-control-request-headers'];
  if (typeof asked === 'string') void reply.header('access-control-allow-headers', asked);
}
