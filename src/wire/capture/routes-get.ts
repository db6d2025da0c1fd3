import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** A path that the pages of our users ask for, with the answer to their browsers' preflight. */
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
