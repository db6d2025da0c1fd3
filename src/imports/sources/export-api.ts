import { objectIn } from '../../base/json.ts';
import { createRetry } from '../../base/retry.ts';
import { SourceError, SourceWaitError, type SourceContext, type SourceHost } from '../source.ts';
import {
  OutboundError,
  type OutboundStreamRequest,
  type OutboundStreamResponse,
} from '../../plugins/outbound/outbound.ts';
import { wrongSetting } from '../../plugins/plugin.ts';
import { withoutGzip } from './without-gzip.ts';

/**
 * Requests to export APIs of other services: each resolves with a response, or fails with an error that shows whether a retry can
 * help.
 */
export interface ExportApi {
  /**
   * Resolves with a response whose status is in `accepted` (200 by default). Its body fails with SourceWaitError if the
   * connection breaks. Throws SourceError or SourceWaitError for any other response, and the signal's reason when aborted.
   */
  ask(request: ExportRequest, signal: AbortSignal): Promise<OutboundStreamResponse>;
  /** Converts an accepted response that turned out to be an error. Reads its body. */
  refusal(response: OutboundStreamResponse): Promise<Refusal>;
}

export interface Refusal {
  readonly error: SourceError | SourceWaitError;
  /** The beginning of the service's message, without secrets. */
  readonly words: string;
}

interface ExportRequest extends Omit<OutboundStreamRequest, 'signal'> {
  readonly accepted?: readonly number[];
}

const idleMs = 180_000;
const retryAfterMsMax = 86_400_000;
const wordsBytesMax = 16_384;
const wordsMax = 300;
const inPlaceMsMax = 3_700_000;
const inPlaceTries = 8;
const brokenTriesMax = 3;
const waitStatuses = new Set([408, 425, 429]);

/**
 * `name`: the service's name in messages. Secrets (of one character or more) never appear in an error, whatever the service
 * responds.
 */
export function createExportApi(
  host: Pick<SourceHost, 'stream' | 'now'>,
  { name, secrets }: { readonly name: string; readonly secrets: readonly string[] },
): ExportApi {
  const hidden = hiddenForms(secrets);
  const refusal: ExportApi['refusal'] = async (response) => {
    const { status, headers } = response;
    const words = masked(await wordsOf(response), hidden);
    const message = `${name} responded ${status}${words === '' ? '' : `: ${words}`}`;
    if (status < 500 && !waitStatuses.has(status))
      return { words, error: new SourceError(`${message}${adviceFor(status)}`) };
    const retryAfterMs = retryAfterOf(headers['retry-after'], host.now());
    const more = retryAfterMs === undefined ? {} : { retryAfterMs };
    return { words, error: new SourceWaitError(message, { unlimited: true, ...more }) };
  };
  return {
    refusal,
    ask: async ({ accepted = [200], ...request }, signal) => {
      signal.throwIfAborted();
      const response = await host.stream({ idleMs, ...request, signal }).catch((error: unknown) => {
        throw brokenError(error, name, signal);
      });
      const guarded = { ...response, body: guardedBody(response.body, name, signal) };
      if (!accepted.includes(response.status)) throw (await refusal(guarded)).error;
      return guarded;
    },
  };
}

/** Returns a custom address or the standard one, without a trailing slash. Throws SettingsError. */
export function baseUrlOf(given: string, key: string, standard: string): string {
  const text = given.trim();
  const url = URL.parse(text === '' ? standard : text);
  const plain = url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (plain && /^https?:$/.test(url.protocol)) return url.href.replace(/\/+$/, '');
  throw wrongSetting(key, 'expected an address such as https://export.example.com, without a key');
}

export function basicAuth(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/** Reads a whole body, for pages of JSON. */
export async function readWhole(
  response: OutboundStreamResponse,
  { name, bytesMax, signal }: { readonly name: string; readonly bytesMax: number; readonly signal: AbortSignal },
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of guardedBody(withoutGzip(response.body), name, signal)) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new SourceError(`${name}: expected a page of at most ${bytesMax} bytes, got more`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Retries one page in place, since restarting its part would fetch all previous pages again. Fails with the last error after a
 * few tries (fewer if the page itself is broken), or if the service requests a wait of more than an hour.
 */
export function askAgain<T>({ signal, waiting, sleep }: SourceContext, ask: () => Promise<T>): Promise<T> {
  let brokenTries = 0;
  const retry = createRetry({
    firstWaitMs: 500,
    waitMsMax: 60_000,
    signal,
    sleep,
    judge: (error, { failures, backoffMs }) => {
      if (!(error instanceof SourceWaitError) || failures >= inPlaceTries) return undefined;
      if (!error.unlimited) brokenTries += 1;
      const waitMs = error.retryAfterMs ?? backoffMs;
      return waitMs > inPlaceMsMax || brokenTries >= brokenTriesMax ? undefined : { reason: error.message, waitMs };
    },
    onWait: (wait) => wait && waiting?.(wait.reason, wait.waitMs),
  });
  return retry(ask);
}

async function* guardedBody(body: AsyncIterable<Buffer>, name: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (error) {
    throw brokenError(error, name, signal);
  }
}

/** Converts the error of a failed request or a broken body. */
export function brokenError(error: unknown, name: string, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof SourceWaitError || error instanceof SourceError) return error;
  if (error instanceof OutboundError && !error.retry) {
    return new SourceError(`${name} cannot be reached: ${error.message}`, { cause: error });
  }
  const message = error instanceof Error ? error.message : String(error);
  if (isBrokenCompression(error)) {
    return new SourceWaitError(
      `${name}: expected complete gzip data, got data that is cut off or damaged (${message})`,
      {
        unlimited: false,
        cause: error,
      },
    );
  }
  return new SourceWaitError(`the connection to ${name} broke: ${message}`, { unlimited: true, cause: error });
}

function isBrokenCompression(error: unknown): boolean {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; each = each.cause, depth += 1) {
    if ('code' in each && typeof each.code === 'string' && each.code.startsWith('Z_')) return true;
  }
  return false;
}

/** Returns the beginning of the service's message on one line; of JSON with a message only that. */
async function wordsOf({ body, headers }: OutboundStreamResponse): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= wordsBytesMax) break;
    }
  } catch (error) {
    // The status is enough, so a truncated message is ignored; a pause is not.
    if (!(error instanceof SourceWaitError)) throw error;
  }
  if (headers['content-type']?.includes('html') === true) return '';
  const text = Buffer.concat(chunks).toString('utf8');
  return messageIn(text).replaceAll(/\s+/g, ' ').trim().slice(0, wordsMax);
}

function messageIn(text: string): string {
  const found = Object.entries(objectIn(text) ?? {}).find(
    ([key, value]) => ['error', 'detail', 'message'].includes(key) && typeof value === 'string',
  );
  return typeof found?.[1] === 'string' ? found[1] : text;
}

function hiddenForms(secrets: readonly string[]): readonly string[] {
  const forms = secrets.flatMap((secret) => (secret === '' ? [] : [secret, encodeURIComponent(secret)]));
  return [...new Set(forms)].toSorted((a, b) => b.length - a.length);
}

function masked(text: string, hidden: readonly string[]): string {
  return hidden.reduce((safe, secret) => safe.replaceAll(secret, '***'), text);
}

function adviceFor(status: number): string {
  if (status === 401 || status === 403) return '; check the credentials and what they may read';
  if (status === 404) return '; check the address and the project';
  return '';
}

function retryAfterOf(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) && header.trim() !== '' ? Math.min(Math.max(0, ms), retryAfterMsMax) : undefined;
}
