import type { FastifyInstance } from 'fastify';
import { ApiError } from '../../wire/contract/errors.ts';

/** Every method that the server can route. */
export const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY'] as const;

/** Answers 405 with Allow to all methods of the path except the known ones. */
export function refuseOtherMethods(app: FastifyInstance, url: string, known: ReadonlySet<string>): void {
  app.route({
    method: methods.filter((method) => !known.has(method)),
    url,
    // Before the body is read, which is not needed.
    onRequest: async (request) => {
      throw methodNotAllowed(request.method, known);
    },
    handler: unreached,
  });
}

export function methodNotAllowed(method: string, known: ReadonlySet<string>): ApiError {
  const allow = methods.filter((each) => known.has(each)).join(', ');
  return new ApiError('method_not_allowed', `Method "${method}" not allowed.`, { headers: { allow } });
}

async function unreached(): Promise<never> {
  throw new Error('expected the hook before this handler to answer');
}
