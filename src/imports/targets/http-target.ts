import { networkFault } from '../../base/network-fault.ts';
import {
  TargetError,
  TargetWaitError,
  TargetUnreadableError,
  type Delivered,
  type Target,
  type EndpointFacts,
  type KeyFacts,
  type ReaderFacts,
  type TargetProbe,
  type TargetReader,
} from '../target.ts';
import { detailIn, isTransient, type Answer } from './batch-answer.ts';
import { createHttpReader } from './http-reader.ts';
import { batchEvents } from './lines.ts';
import type { HttpRequest } from './http-request.ts';
import { BatchRefusedError, createBatchSender, type BatchOutcome } from './send-batch.ts';
import { objectIn } from '../../base/json.ts';

interface HttpTargetOptions {
  /** Address of the service, `https://eu.example.com`, or of its endpoint, `https://eu.example.com/batch/`. */
  readonly url: string;
  /** The project's key. */
  readonly apiKey: string;
  /** With the scope query:read; without it nothing can be read back. */
  readonly personalApiKey?: string | undefined;
  readonly runId: string;
  /** directRequest or outboundRequest. */
  readonly request: HttpRequest;
  /** How long acknowledged events may take until they can be read, in ms; default 30 s. */
  readonly lagMs?: number;
  /** ms since the epoch; default the clock of the machine. */
  readonly now?: () => number;
}

const defaultLagMs = 30_000;

/** Opens any service that speaks `/batch/`. Throws TargetError if the address is invalid. */
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

/** Returns `undefined` without a key to read with. */
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

/** Returns a final response. Throws TargetWaitError. */
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
    if (isFinal(cause)) throw new TargetError(`${place}: ${(cause as Error).message}`, { cause });
    throw new TargetWaitError(`${place} does not respond (${networkFault(cause)})`, { cause });
  }
  if (!isTransient(answer.status)) return answer;
  const why = detailIn(answer.text);
  const message = `${place} answers ${answer.status}${why === undefined ? '' : `: ${why}`}`;
  throw new TargetWaitError(message, answer.retryAfterMs > 0 ? { retryAfterMs: answer.retryAfterMs } : {});
}

/** Returns whether retries cannot help: the address is not allowed, or the request cannot be sent. */
function isFinal(error: unknown): boolean {
  return error instanceof Error && 'retry' in error && error.retry === false;
}

function refusal(endpoint: string, { status, text }: Answer): TargetError {
  const detail = detailIn(text) ?? 'no explanation given';
  if (status === 401 || status === 403) {
    return new TargetError(`${endpoint} refuses the project key (${status}): ${detail}; give the right key`);
  }
  if (status === 404 || status === 405) {
    return new TargetError(`${endpoint} accepts no events (${status}): ${detail}; correct the address of the target`);
  }
  if (status >= 300 && status < 400) {
    return new TargetError(`${endpoint} answers with a redirect; give the final address of the target`);
  }
  return new TargetError(`${endpoint} answers ${status}: ${detail}`);
}

interface ProbeOptions {
  /** The address without `/batch/` and without a trailing slash. */
  readonly base: string;
  readonly apiKey: string;
  readonly request: HttpRequest;
  /** `undefined` without a personal key. */
  readonly reader: TargetReader | undefined;
  /** ms since the epoch. */
  readonly now: () => number;
}

/** A day without any events. */
const emptyDay = '1970-01-02';
/** Maximum number of addresses to try instead of a wrong one. */
const basesMax = 5;

/** Probes any service that speaks `/batch/`: with an empty batch, a request for feature flags, a count of no events. */
function probeHttpTarget(options: ProbeOptions): TargetProbe {
  return {
    endpoint: (signal) => probeEndpoint(options, signal),
    projectKey: (signal) => probeProjectKey(options, signal),
    reader: (signal) => probeReader(options.reader, signal),
  };
}

async function probeEndpoint(options: ProbeOptions, signal: AbortSignal): Promise<EndpointFacts> {
  const askedAt = options.now();
  let answer: Answer;
  try {
    answer = await postEmpty(options, options.base, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { kind: 'unreachable', fault: networkFault(error) };
  }
  const date = answer.date === undefined ? Number.NaN : Date.parse(answer.date);
  const clock = Number.isNaN(date) ? {} : { skewMs: date - (askedAt + options.now()) / 2 };
  const { status } = answer;
  if (status >= 300 && status < 400) return { ...clock, kind: 'moved', to: answer.location };
  if (isTransient(status)) return { ...clock, kind: 'busy', status };
  if (await takesBatches(options, options.base, answer, signal)) return { ...clock, kind: 'takes_batches' };
  const url = await otherBase(options, signal);
  return url === undefined ? { ...clock, kind: 'foreign', status } : { ...clock, kind: 'elsewhere', url };
}

/** Sends a batch without events, which services that accept batches refuse or ignore. Plain, so that any service can read it. */
function postEmpty(
  { apiKey, request }: ProbeOptions,
  base: string,
  signal: AbortSignal,
  path = 'batch',
): Promise<Answer> {
  const body = Buffer.from(JSON.stringify({ api_key: apiKey, historical_migration: true, batch: [] }));
  const headers = { 'content-type': 'application/json' };
  return request({ url: `${base}/${path}/`, method: 'POST', headers, body, signal });
}

/**
 * Returns whether the response to an empty batch is that of a service that accepts batches: JSON on success (web pages respond with
 * HTML), a refusal of the key, or a refusal that a path that surely does not exist does not get.
 */
async function takesBatches(
  options: ProbeOptions,
  base: string,
  answer: Answer,
  signal: AbortSignal,
): Promise<boolean> {
  const { status, text } = answer;
  if (status >= 200 && status < 300) return text === '' || objectIn(text) !== undefined;
  if (status === 401 || status === 403) return true;
  if (status !== 400 && status !== 413 && status !== 422) return false;
  const control = await postEmpty(options, base, signal, 'no-such-path');
  return control.status !== status;
}

/** Finds a shorter path of the same address at which batches are accepted. */
async function otherBase(options: ProbeOptions, signal: AbortSignal): Promise<string | undefined> {
  const { origin, pathname } = new URL(options.base);
  const steps = pathname.split('/').filter((step) => step !== '');
  const bases = steps.map((_, index) => [origin, ...steps.slice(0, steps.length - 1 - index)].join('/'));
  const taken = await Promise.all(
    bases.slice(0, basesMax).map(async (base) => {
      try {
        return await takesBatches(options, base, await postEmpty(options, base, signal), signal);
      } catch {
        // Without a response the address is no better; the caller reports an expired time limit.
        return false;
      }
    }),
  );
  signal.throwIfAborted();
  return bases.find((_, index) => taken[index] === true);
}

/** Sends the first request of clients: a service with feature flags refuses it for an unknown key. */
async function probeProjectKey({ base, apiKey, request }: ProbeOptions, signal: AbortSignal): Promise<KeyFacts> {
  const body = Buffer.from(JSON.stringify({ token: apiKey, distinct_id: 'millrace-preflight', disable_flags: true }));
  let answer: Answer;
  try {
    const headers = { 'content-type': 'application/json' };
    answer = await request({ url: `${base}/flags/?v=2`, method: 'POST', headers, body, signal });
  } catch (error) {
    signal.throwIfAborted();
    return { kind: 'unclear', detail: networkFault(error) };
  }
  const detail = detailIn(answer.text);
  const explanation = detail === undefined ? {} : { detail };
  if (answer.status === 200 && objectIn(answer.text) !== undefined) return { kind: 'known' };
  return answer.status === 401 || answer.status === 403
    ? { kind: 'unknown', ...explanation }
    : { kind: 'unclear', ...explanation };
}

async function probeReader(reader: TargetReader | undefined, signal: AbortSignal): Promise<ReaderFacts> {
  if (reader === undefined) return { kind: 'no_key' };
  try {
    await reader.dayCounts(emptyDay, signal, 'crc32');
    return { kind: 'reads' };
  } catch (error) {
    if (error instanceof TargetUnreadableError) return { kind: error.code, detail: error.message };
    if (error instanceof TargetWaitError) return { kind: 'unclear', detail: error.message };
    throw error;
  }
}
