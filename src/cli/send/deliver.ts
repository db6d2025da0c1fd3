import { promisify } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzip } from 'node:zlib';
import { backoffMs } from '../../base/backoff.ts';
import { detailOf, networkFault } from '../api-client.ts';
import { CommandError } from '../exit-codes.ts';
import type { OutgoingEvent } from './to-events.ts';

const compress = promisify(gzip);

export interface Rejection {
  readonly event: OutgoingEvent;
  readonly code: string;
  readonly detail: string;
}

export interface Delivered {
  readonly accepted: number;
  readonly rejected: readonly Rejection[];
}

export interface DeliverOptions {
  /** Whole address of the endpoint, e.g. http://127.0.0.1:8000/batch/. */
  readonly endpoint: string;
  readonly projectKey: string;
  readonly historical: boolean;
  /** Attempts in a row that may fail before the command gives up. */
  readonly retriesMax: number;
  /** Waiting ends and nothing new is sent once it is aborted; a request under way is finished. */
  readonly signal: AbortSignal;
  onRequest(): void;
  /** Said once per wait. */
  onRetry(reason: string, waitMs: number): void;
  /** Tests shorten the waits. */
  readonly firstWaitMs?: number;
}

/** Sends a batch; `report` hears of every part of it as soon as that part is answered for good. */
export type Deliver = (events: readonly OutgoingEvent[], report: (delivered: Delivered) => void) => Promise<void>;

const answerMsMax = 120_000;
const firstWaitMs = 500;
const waitMsMax = 30_000;
/** When nothing has been accepted, this many refused events say that the fault is not theirs. */
const hopelessRejections = 100;

/**
 * - 2xx: accepted, less what the answer lists as rejected
 * - 408, 429, 5xx, network trouble: the same body again, after a growing wait or as long as Retry-After says
 * - 400 and 413 that list every event: these are rejected, each for its own reason
 * - other 413: both halves apart; a single event is rejected
 * - other 400: a service that refuses whole batches is asked for both halves, until the bad events stand alone
 * - anything else ends the command. Errors: CommandError
 */
export function createDeliver(options: DeliverOptions): Deliver {
  let everAccepted = 0;
  let everRejected = 0;
  const settle = (response: Answer, events: readonly OutgoingEvent[]): Delivered | 'split' => {
    if (response.ok) return readAnswer(events, response.text);
    if (response.status !== 400 && response.status !== 413) throw refusal(response, options);
    const listed = listedErrors(events, response.text);
    if (listed !== undefined) return { accepted: 0, rejected: listed };
    if (events.length > 1) return 'split';
    if (everAccepted === 0 && everRejected >= hopelessRejections) throw refusal(response, options);
    const code = codeOf(response.text) ?? (response.status === 413 ? 'request_too_large' : 'rejected');
    const detail = detailOf(response.text) ?? `status ${response.status}`;
    return { accepted: 0, rejected: events.map((event) => ({ event, code, detail })) };
  };
  const deliver: Deliver = async (events, report) => {
    const delivered = settle(await post(events, options), events);
    if (delivered === 'split') {
      const middle = Math.ceil(events.length / 2);
      await deliver(events.slice(0, middle), report);
      await deliver(events.slice(middle), report);
      return;
    }
    everAccepted += delivered.accepted;
    everRejected += delivered.rejected.length;
    report(delivered);
  };
  return deliver;
}

interface Answer {
  readonly ok: boolean;
  readonly status: number;
  readonly text: string;
  readonly retryAfterMs: number;
}

/** One body, sent until it is answered for good. The bytes are the same every time. */
async function post(events: readonly OutgoingEvent[], options: DeliverOptions): Promise<Answer> {
  const body = await compress(bodyOf(events, options), { level: 3 });
  for (let attempt = 0; ; attempt += 1) {
    options.signal.throwIfAborted();
    options.onRequest();
    const outcome = await tryOnce(body, options.endpoint);
    if (typeof outcome !== 'string' && !isTransient(outcome.status)) return outcome;
    const reason = typeof outcome === 'string' ? outcome : `status ${outcome.status}`;
    if (attempt >= options.retriesMax) throw givenUp(outcome, reason, attempt + 1, options);
    const wait = backoffMs(attempt, options.firstWaitMs ?? firstWaitMs, waitMsMax);
    const waitMs = Math.max(wait, typeof outcome === 'string' ? 0 : outcome.retryAfterMs);
    options.onRetry(reason, waitMs);
    await sleep(waitMs, undefined, { signal: options.signal }).catch(() => options.signal.throwIfAborted());
  }
}

function bodyOf(events: readonly OutgoingEvent[], { projectKey, historical }: DeliverOptions): string {
  const flag = historical ? '"historical_migration":true,' : '';
  return `{"api_key":${JSON.stringify(projectKey)},${flag}"batch":[${events.map(({ json }) => json).join(',')}]}`;
}

/** The answer, or what went wrong on the way. */
async function tryOnce(body: Uint8Array<ArrayBuffer>, endpoint: string): Promise<Answer | string> {
  try {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(answerMsMax),
    });
    const retryAfterMs = retryAfter(response.headers.get('retry-after'));
    return { ok: response.ok, status: response.status, text: await response.text(), retryAfterMs };
  } catch (error) {
    return networkFault(error);
  }
}

/** Seconds or a date, as HTTP allows; at most an hour. */
function retryAfter(header: string | null): number {
  if (header === null) return 0;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), 3_600_000);
}

function isTransient(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

function readAnswer(events: readonly OutgoingEvent[], text: string): Delivered {
  const rejected = rejectionsIn(events, parsed(text)?.['rejected']);
  return { accepted: events.length - rejected.length, rejected };
}

/** The rejections of a body that was refused as a whole, when it names every event. */
function listedErrors(events: readonly OutgoingEvent[], text: string): Rejection[] | undefined {
  const answer = parsed(text);
  const errors = Array.isArray(answer?.['errors']) ? answer['errors'] : answer === undefined ? [] : [answer];
  const rejected = rejectionsIn(events, errors);
  return rejected.length === events.length ? rejected : undefined;
}

/** `batch[3].distinct_id` → 3. */
function indexIn({ index, attr }: Readonly<Record<string, unknown>>): number {
  if (typeof index === 'number') return index;
  const found = typeof attr === 'string' ? /^batch(?:\[|__)(\d+)/.exec(attr)?.[1] : undefined;
  return found === undefined ? -1 : Number(found);
}

function rejectionsIn(events: readonly OutgoingEvent[], list: unknown): Rejection[] {
  if (!Array.isArray(list)) return [];
  const byIndex = new Map<number, Rejection>();
  for (const each of list as readonly Readonly<Record<string, unknown>>[]) {
    const index = indexIn(each);
    const event = events[index];
    if (event === undefined) continue;
    byIndex.set(index, { event, code: String(each['code'] ?? 'rejected'), detail: String(each['detail'] ?? '') });
  }
  return [...byIndex.values()];
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function codeOf(text: string): string | undefined {
  const code = parsed(text)?.['code'];
  return typeof code === 'string' ? code : undefined;
}

function givenUp(
  outcome: Answer | string,
  reason: string,
  attempts: number,
  { endpoint }: DeliverOptions,
): CommandError {
  const limited = typeof outcome !== 'string' && outcome.status === 429;
  const message = `${endpoint}: still ${reason} after ${attempts} attempts; nothing is lost, send the file again later`;
  return new CommandError(limited ? 'rateLimited' : 'unreachable', message);
}

function refusal({ status, text }: Answer, { endpoint }: DeliverOptions): CommandError {
  const detail = detailOf(text) ?? 'no explanation given';
  if (status === 401 || status === 403) return new CommandError('auth', `${endpoint}: ${detail}`);
  if (status === 404 || status === 405)
    return new CommandError('notFound', `${endpoint} takes no events (${status}): ${detail}`);
  if (status >= 300 && status < 400)
    return new CommandError('failed', `${endpoint} answers with a redirect; give the final address with --url`);
  return new CommandError('failed', `${endpoint} answers ${status}: ${detail}`);
}
