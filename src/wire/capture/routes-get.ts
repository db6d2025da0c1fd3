import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuseOtherMethods } from '../../server/http/refuse-methods.ts';

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

/** Answers the preflight of a path, and 405 to other methods. */
export function answerOptions(app: FastifyInstance, url: string, taken: readonly string[]): void {
  app.options(url, async (_request, reply) =>
    reply.header('allow', [...taken, 'OPTIONS'].join(', ')).send({ status: 'Ok' }),
  );
  refuseOtherMethods(app, url, new Set([...taken, 'OPTIONS']));
}
