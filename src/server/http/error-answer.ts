import type { IncomingMessage } from 'node:http';
import { strictJson } from '../../base/strict-json.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { Log } from '../telemetry/log.ts';
import { toApiError } from './errors.ts';

/** What a client is told of any error. */
export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface FailedRequest {
  readonly raw: IncomingMessage;
  readonly id: string;
  readonly method: string;
  /** Its pattern, see `routeOf` in server.ts. */
  readonly route: string;
}

const errorHeaders = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

/** Also logs it, if it is ours. */
export function errorAnswer(error: unknown, { raw, id, method, route }: FailedRequest, log: Log): ErrorAnswer {
  const apiError = isCutOff(raw) ? cutOff(error) : toApiError(error);
  if (apiError.status >= 500) {
    log.error({ err: apiError.cause ?? apiError, requestId: id, method, route }, apiError.detail);
  }
  const headers = { ...errorHeaders, ...(hasMuchUnread(raw) && closing), ...apiError.headers };
  return { status: apiError.status, headers, body: strictJson(JSON.stringify(apiError.body())) };
}

/** What is left of a body up to here is read and thrown away, so that the client sees the answer and keeps its connection. */
const unreadBytesMax = 32 * 1024 * 1024;
const closing = { connection: 'close' } as const;

/** Whether so much of the body may still come that reading it costs more than a new connection. */
function hasMuchUnread({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > unreadBytesMax;
}

/** Whether the client left in the middle of its request: what fails then is its doing, not a fault of a store. */
function isCutOff(raw: IncomingMessage): boolean {
  return raw.errored !== null && raw.errored !== undefined && !raw.complete;
}

function cutOff(cause: unknown): ApiError {
  return new ApiError('parse_error', 'The client went away before its request was complete.', { cause });
}
