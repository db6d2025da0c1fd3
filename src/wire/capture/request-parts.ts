import type { Settings } from '../../server/config/settings.ts';
import type { DirectRequest } from '../../server/http/direct.ts';
import type { BodyHints } from './decode.ts';
import { noRoom, readBody, type BodyBudget, type ReadLimits } from './read-body.ts';

/**
 * Returns the sender's address without the port that some proxies add to IPv4, and without the IPv6 wrapping of an IPv4
 * address. Call it before awaiting the body: a connection that has been reset no longer has an address.
 */
export function senderOf({ ip }: DirectRequest): string | undefined {
  // Fastify's type ignores closed connections.
  const address = (ip as string | undefined) ?? '';
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1');
  return plain === '' ? undefined : plain;
}

/** Returns the trace that the client's request belongs to (W3C Trace Context), if the header is valid. */
export function traceparentOf({ headers }: Pick<DirectRequest, 'headers'>): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' && /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(traceparent)
    ? traceparent
    : undefined;
}

/** Counts bytes that a request keeps in memory in addition to its body. Throws ApiError 503 if the budget is exhausted. */
export type Hold = (bytes: number) => void;

/** Reads the body, passes it to `work`, and always returns its bytes to the budget. */
export async function withBody<T>(
  deps: { readonly settings: Settings },
  budget: BodyBudget,
  request: Pick<DirectRequest, 'raw'>,
  work: (body: Buffer, hold: Hold) => Promise<T>,
  refusalOf?: ReadLimits['refusalOf'],
): Promise<T> {
  const { captureBodyBytesMax: bytesMax, captureBodyTimeoutMs: timeoutMs } = deps.settings;
  const limits = { bytesMax, timeoutMs, ...(refusalOf === undefined ? {} : { refusalOf }) };
  const body = await readBody(request.raw, limits, budget);
  let held = body.length;
  const hold = (bytes: number): void => {
    if (budget.bytes + bytes > budget.bytesMax) throw noRoom();
    budget.bytes += bytes;
    held += bytes;
  };
  try {
    return await work(body, hold);
  } finally {
    budget.bytes -= held;
  }
}

const noQuery: Pick<URLSearchParams, 'get'> = { get: () => null };

export function queryOf({ url }: Pick<DirectRequest, 'url'>): Pick<URLSearchParams, 'get'> {
  const at = url.indexOf('?');
  return at < 0 ? noQuery : new URLSearchParams(url.slice(at + 1));
}

export function hintsOf(request: DirectRequest, query: Pick<URLSearchParams, 'get'>): BodyHints {
  return {
    contentType: request.headers['content-type'],
    contentEncoding: request.headers['content-encoding'],
    queryCompression: query.get('compression') ?? undefined,
    queryData: query.get('data') ?? undefined,
    legacyPath: /^\/(e|capture|engage|track)\b/.test(request.url),
  };
}
