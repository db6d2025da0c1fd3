import type { DirectRequest } from '../../server/http/direct.ts';
import type { BodyHints } from './decode.ts';
import { noRoom, readBody, type BodyBudget, type ReadLimits } from './read-body.ts';
import type { CaptureDeps } from './take-request.ts';

/** Counts bytes that a request keeps in memory beside its body; throws ApiError 503 when there is no room. */
export type Hold = (bytes: number) => void;

/** Reads the body, hands it on, and gives all bytes back to the budget whatever happens. `refusalOf`: see ReadLimits. */
export async function withBody<T>(
  deps: Pick<CaptureDeps, 'settings'>,
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
