import { networkFault } from '../../base/network-fault.ts';
import { createRetry } from '../../base/retry.ts';
import { isTransient, type Answer } from '../../imports/targets/batch-answer.ts';
import { directRequest, type HttpRequest } from '../../imports/targets/http-request.ts';
import { BatchRefusedError, createBatchSender } from '../../imports/targets/send-batch.ts';
import { detailOf } from '../api-client.ts';
import { CommandError } from '../exit-codes.ts';
import type { OutgoingEvent } from './to-events.ts';

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

const firstWaitMs = 500;
const waitMsMax = 30_000;

/**
 * What is accepted and what rejected: see createBatchSender. 408, 429, 5xx and network trouble: the same body again, after
 * a growing wait or as long as Retry-After says. Errors: CommandError
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

/** One body, sent until it is answered for good. The bytes are the same every time. */
async function post(request: HttpRequest, body: Uint8Array<ArrayBuffer>, options: DeliverOptions): Promise<Answer> {
  const retry = createRetry({
    firstWaitMs: options.firstWaitMs ?? firstWaitMs,
    waitMsMax,
    signal: options.signal,
    judge: (error, { failures, backoffMs }) => {
      if (!(error instanceof TransientError)) return undefined;
      if (failures >= options.retriesMax) throw givenUp(error, failures + 1, options);
      return { reason: error.message, waitMs: Math.max(backoffMs, error.answer?.retryAfterMs ?? 0) };
    },
    onWait: (wait) => wait !== null && options.onRetry(wait.reason, wait.waitMs),
  });
  return retry(() => {
    options.onRequest();
    return tryOnce(request, body, options.endpoint);
  });
}

/** The same body may go well later; without an answer: the network failed. */
class TransientError extends Error {
  readonly answer: Answer | undefined;

  constructor(message: string, answer?: Answer) {
    super(message);
    this.answer = answer;
  }
}

/** A request under way is finished, whatever happens. */
const never = new AbortController().signal;

/** An answer that is for good. Throws TransientError */
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

function givenUp({ message: reason, answer }: TransientError, attempts: number, { endpoint }: DeliverOptions) {
  const limited = answer?.status === 429;
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
