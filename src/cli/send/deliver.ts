import { networkFault } from '../../base/network-fault.ts';
import { createRetry } from '../../base/retry.ts';
import { isTransient, type Answer } from '../../imports/targets/batch-answer.ts';
import { directRequest, type HttpRequest } from '../../imports/targets/http-request.ts';
import { BatchRefusedError, createBatchSender } from '../../imports/targets/send-batch.ts';
import { detailOf } from '../api-client.ts';
import { CommandError } from '../exit-codes.ts';
import type { OutgoingEvent } from './to-events.ts';

interface Rejection {
  readonly event: OutgoingEvent;
  readonly code: string;
  readonly detail: string;
}

export interface Delivered {
  readonly accepted: number;
  readonly rejected: readonly Rejection[];
}

export interface DeliverOptions {
  /** Address of the endpoint, such as http://127.0.0.1:8000/batch/. */
  readonly endpoint: string;
  readonly projectKey: string;
  readonly historical: boolean;
  /** Consecutive failed attempts before the command fails. */
  readonly retriesMax: number;
  /** When aborted, waits end and nothing more is sent; a request in progress is completed. */
  readonly signal: AbortSignal;
  onRequest(): void;
  /** Called once per wait. */
  onRetry(reason: string, waitMs: number): void;
  /** Tests shorten the waits. */
  readonly firstWaitMs?: number;
}

/** Sends a batch and calls `report` for every part with a final response. */
export type Deliver = (events: readonly OutgoingEvent[], report: (delivered: Delivered) => void) => Promise<void>;

const firstWaitMs = 500;
const waitMsMax = 30_000;

/**
 * Creates a sender, see createBatchSender. After 408, 429, 5xx and network failures it sends the same body again, with increasing waits or
 * those of Retry-After. Errors: CommandError.
 */
export function createDeliver(options: DeliverOptions): Deliver {
  const request = directRequest();
  const { projectKey, historical } = options;
  const send = createBatchSender({ projectKey, historical, request: (body) => post(request, body, options) });
  return async (events, report) => {
    const batch = {
      count: events.length,
      json: (from: number, to: number) =>
        events
          .slice(from, to)
          .map(({ json }) => json)
          .join(','),
    };
    try {
      await send(
        batch,
        ({ accepted, rejected }) => report({ accepted, rejected: withEvents(events, rejected) }),
        options.signal,
      );
    } catch (error) {
      throw error instanceof BatchRefusedError ? refusal(error.answer, options) : error;
    }
  };
}

function withEvents(
  events: readonly OutgoingEvent[],
  rejected: readonly { readonly index: number; readonly code: string; readonly detail: string }[],
): Rejection[] {
  return rejected.flatMap(({ index, code, detail }) => {
    const event = events[index];
    return event === undefined ? [] : [{ event, code, detail }];
  });
}

/** Sends the same body until it has a final response. */
async function post(request: HttpRequest, body: Uint8Array<ArrayBuffer>, options: DeliverOptions): Promise<Answer> {
  const retry = createRetry({
    firstWaitMs: options.firstWaitMs ?? firstWaitMs,
    waitMsMax,
    signal: options.signal,
    judge: (error, { failures, backoffMs }) => {
      if (!(error instanceof TransientError)) return undefined;
      if (failures >= options.retriesMax) throw retriesExhausted(error, failures + 1, options);
      return { reason: error.message, waitMs: Math.max(backoffMs, error.answer?.retryAfterMs ?? 0) };
    },
    onWait: (wait) => wait !== null && options.onRetry(wait.reason, wait.waitMs),
  });
  return retry(() => {
    options.onRequest();
    return tryOnce(request, body, options.endpoint);
  });
}

/** A failure that may pass; without an answer the network failed. */
class TransientError extends Error {
  readonly answer: Answer | undefined;

  constructor(message: string, answer?: Answer) {
    super(message);
    this.answer = answer;
  }
}

/** A request in progress is always completed. */
const never = new AbortController().signal;

/** Returns a final response. Errors: TransientError. */
async function tryOnce(request: HttpRequest, body: Uint8Array<ArrayBuffer>, endpoint: string): Promise<Answer> {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  const answer = await request({ url: endpoint, method: 'POST', headers, body, signal: never }).catch(
    (error: unknown) => {
      throw new TransientError(networkFault(error));
    },
  );
  if (isTransient(answer.status)) throw new TransientError(`status ${answer.status}`, answer);
  return answer;
}

function retriesExhausted({ message: reason, answer }: TransientError, attempts: number, { endpoint }: DeliverOptions) {
  const limited = answer?.status === 429;
  const message = `${endpoint}: still ${reason} after ${attempts} attempts; nothing is lost, send the file again later`;
  return new CommandError(limited ? 'rateLimited' : 'unreachable', message);
}

function refusal({ status, text }: Answer, { endpoint }: DeliverOptions): CommandError {
  const detail = detailOf(text) ?? 'no explanation given';
  if (status === 401 || status === 403) return new CommandError('auth', `${endpoint}: ${detail}`);
  if (status === 404 || status === 405)
    return new CommandError('notFound', `${endpoint} does not accept events (${status}): ${detail}`);
  if (status >= 300 && status < 400)
    return new CommandError('failed', `${endpoint} responds with a redirect; use the final address as --url`);
  return new CommandError('failed', `${endpoint} responds with ${status}: ${detail}`);
}
