import type { FastifyRequest } from 'fastify';
import type { BodyHints } from './decode.ts';
import { readBody, type BodyBudget } from './read-body.ts';
import type { CaptureDeps } from './take-request.ts';

/** Reads the body, hands it on, and gives its bytes back to the budget whatever happens. */
export async function withBody<T>(
  deps: Pick<CaptureDeps, 'settings'>,
  budget: BodyBudget,
  request: FastifyRequest,
  work: (body: Buffer) => Promise<T>,
): Promise<T> {
  const limits = { bytesMax: deps.settings.captureBodyBytesMax, timeoutMs: deps.settings.captureBodyTimeoutMs };
  const body = await readBody(request.raw, limits, budget);
  try {
    return await work(body);
  } finally {
    budget.bytes -= body.length;
  }
}

export function queryOf(request: FastifyRequest): URLSearchParams {
  const at = request.url.indexOf('?');
  return new URLSearchParams(at < 0 ? '' : request.url.slice(at + 1));
}

export function hintsOf(request: FastifyRequest, query: URLSearchParams): BodyHints {
  return {
    contentType: request.headers['content-type'],
    contentEncoding: request.headers['content-encoding'],
    queryCompression: query.get('compression') ?? undefined,
    queryData: query.get('data') ?? undefined,
    legacyPath: /^\/(e|capture|engage|track)\b/.test(request.url),
  };
}
