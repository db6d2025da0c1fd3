import { networkFault } from '../../base/network-fault.ts';
import { TargetError, TargetWaitError, type Delivered, type Target } from '../target.ts';
import { detailIn, isTransient, type Answer } from './batch-answer.ts';
import { createHttpReader } from './http-reader.ts';
import { batchEvents } from './lines.ts';
import type { HttpRequest } from './http-request.ts';
import { probeHttpTarget } from './probe-http-target.ts';
import { BatchRefusedError, createBatchSender, type BatchOutcome } from './send-batch.ts';

export interface HttpTargetOptions {
  /** Of the service, `https://eu.example.com`, or of its endpoint, `https://eu.example.com/batch/`. */
  readonly url: string;
  /** The project's key. */
  readonly apiKey: string;
  /** With the scope query:read; undefined: what is stored cannot be read back. */
  readonly personalApiKey?: string | undefined;
  readonly runId: string;
  /** directRequest or outboundRequest. */
  readonly request: HttpRequest;
  /** How long what was acknowledged may take until it can be read, in ms; default 30 s. */
  readonly lagMs?: number;
  /** ms since the epoch; default the clock of the machine. */
  readonly now?: () => number;
}

const defaultLagMs = 30_000;

/** Any service that speaks `/batch/`. Throws TargetError when the address is none. */
export function openHttpTarget(options: HttpTargetOptions): Target {
  const { apiKey, request } = options;
  const { endpoint, origin } = addressOf(options.url);
  const post = (body: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<Answer> =>
    answered(request, endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body,
      signal,
    });
  const reader = readerOf(options, origin);
  const send = createBatchSender({ projectKey: apiKey, historical: true, request: post });
  return {
    description: endpoint,
    deliver: async (batch, signal) => {
      const outcomes: BatchOutcome[] = [];
      try {
        await send(batchEvents(batch), (outcome) => outcomes.push(outcome), signal);
      } catch (error) {
        throw error instanceof BatchRefusedError ? refusal(endpoint, error.answer) : error;
      }
      return total(outcomes);
    },
    lagMs: options.lagMs ?? defaultLagMs,
    settled: () => Promise.resolve(),
    reader,
    probe: probeHttpTarget({ base: origin, apiKey, request, reader, now: options.now ?? Date.now }),
  };
}

/** Undefined: there is no key to read with. */
function readerOf({ apiKey, personalApiKey, runId, request }: HttpTargetOptions, origin: string) {
  if (personalApiKey === undefined) return undefined;
  const headers = { accept: 'application/json', authorization: `Bearer ${personalApiKey}` };
  return createHttpReader({
    origin,
    apiKey,
    runId,
    get: (url, signal) => answered(request, url, { method: 'GET', headers, signal }),
  });
}

function addressOf(url: string): { endpoint: string; origin: string } {
  const address = URL.parse(url);
  if (address === null || !/^https?:$/.test(address.protocol) || address.username !== '' || address.password !== '') {
    throw new TargetError('expected the target as http(s)://host, without user and password; correct the address');
  }
  const base = `${address.origin}${address.pathname}`.replace(/\/+$/, '').replace(/\/batch$/, '');
  return { endpoint: `${base}/batch/`, origin: base };
}

function total(outcomes: readonly BatchOutcome[]): Delivered {
  return {
    accepted: outcomes.reduce((sum, { accepted }) => sum + accepted, 0),
    rejected: outcomes.flatMap(({ rejected }) => rejected),
  };
}

/** An answer that is for good. Throws TargetWaitError. */
async function answered(
  request: HttpRequest,
  url: string,
  what: Omit<Parameters<HttpRequest>[0], 'url'>,
): Promise<Answer> {
  const place = url.split('?')[0] ?? url;
  let answer: Answer;
  try {
    answer = await request({ url, ...what });
  } catch (cause) {
    what.signal.throwIfAborted();
    if (isForGood(cause)) throw new TargetError(`${place}: ${(cause as Error).message}`, { cause });
    throw new TargetWaitError(`${place} gives no answer (${networkFault(cause)})`, { cause });
  }
  if (!isTransient(answer.status)) return answer;
  const why = detailIn(answer.text);
  const message = `${place} answers ${answer.status}${why === undefined ? '' : `: ${why}`}`;
  throw new TargetWaitError(message, answer.retryAfterMs > 0 ? { retryAfterMs: answer.retryAfterMs } : {});
}

/** An address that may not be reached, a request that cannot be sent. */
function isForGood(error: unknown): boolean {
  return error instanceof Error && 'retry' in error && error.retry === false;
}

function refusal(endpoint: string, { status, text }: Answer): TargetError {
  const detail = detailIn(text) ?? 'no explanation given';
  if (status === 401 || status === 403) {
    return new TargetError(`${endpoint} does not take the project key (${status}): ${detail}; give the right key`);
  }
  if (status === 404 || status === 405) {
    return new TargetError(`${endpoint} takes no events (${status}): ${detail}; correct the address of the target`);
  }
  if (status >= 300 && status < 400) {
    return new TargetError(`${endpoint} answers with a redirect; give the final address of the target`);
  }
  return new TargetError(`${endpoint} answers ${status}: ${detail}`);
}
