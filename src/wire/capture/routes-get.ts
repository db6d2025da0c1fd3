import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Registers a GET route that browsers call from other origins, with the answer to their preflight. */
export function get(
  app: FastifyInstance,
  url: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void {
  app.get(url, handler);
  app.options(url, async (_request, reply) => reply.code(204).header('allow', 'GET, HEAD, OPTIONS').send());
}

export function slashed(path: string): string[] {
  return [path, `${path}/`];
}
