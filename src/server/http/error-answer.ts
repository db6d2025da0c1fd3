import type { IncomingMessage } from 'node:http';
import { strictJson } from '../../base/strict-json.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { Log } from '../telemetry/log.ts';
import { LogUnavailableError } from '../../log/eventlog.ts';
import { StoreUnavailableError } from '../../stores/events/eventstore.ts';

/** The response to an error. */
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

/** Also logs the error if it is ours. */
export function errorAnswer(error: unknown, { raw, id, method, route }: FailedRequest, log: Log): ErrorAnswer {
  const apiError = isCutOff(raw) ? cutOff(error) : toApiError(error);
  if (apiError.status >= 500) {
    log.error({ err: apiError.cause ?? apiError, requestId: id, method, route }, apiError.detail);
  }
  const headers = { ...errorHeaders, ...(hasMuchUnread(raw) && closing), ...apiError.headers };
  return { status: apiError.status, headers, body: strictJson(JSON.stringify(apiError.body())) };
}

/** Up to this size, the rest of a body is read and discarded, so that the client receives the response and keeps its connection. */
const unreadBytesMax = 32 * 1024 * 1024;
const closing = { connection: 'close' } as const;

/** Whether reading the rest of the body costs more than a new connection. */
function hasMuchUnread({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > unreadBytesMax;
}

/** Whether the client disconnected during its request: resulting errors are not faults of a store. */
function isCutOff(raw: IncomingMessage): boolean {
  return raw.errored !== null && raw.errored !== undefined && !raw.complete;
}

function cutOff(cause: unknown): ApiError {
  return new ApiError('parse_error', 'The client went away before its request was complete.', { cause });
}

const storageRetrySeconds = 5;

/** Converts any error for clients. Errors that are not meant for clients become a plain 500; the cause is logged. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isStorageTrouble(error)) {
    return new ApiError('unavailable', 'The storage of the service cannot be reached. Try again in a few seconds.', {
      headers: { 'retry-after': String(storageRetrySeconds) },
      cause: error,
    });
  }
  return fromFramework(error) ?? new ApiError('error', 'A server error occurred.', { cause: error });
}

/** Errors of Fastify and its multipart plugin before a handler runs. */
function fromFramework(error: unknown): ApiError | undefined {
  const { code, statusCode } = fieldsOf(error);
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
    case 'FST_REQ_FILE_TOO_LARGE':
    case 'FST_FILES_LIMIT':
    case 'FST_FIELDS_LIMIT':
    case 'FST_PARTS_LIMIT':
      return new ApiError('request_too_large', 'Request too large.', { cause: error });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_INVALID_MULTIPART_CONTENT_TYPE':
      return new ApiError('unsupported_media_type', 'Unsupported media type in request.', { cause: error });
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_INVALID_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
    // QUERY without a content type: existing paths refuse the method before Fastify checks the type.
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':
      return new ApiError('not_found', 'Endpoint not found.', { cause: error });
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new ApiError('parse_error', 'The body does not have the length that Content-Length states.', {
        cause: error,
      });
    default:
  }
  if (typeof code !== 'string' || !code.startsWith('FST_')) return undefined;
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode > 499) return undefined;
  return new ApiError('parse_error', 'The request could not be read.', { cause: error });
}

// SQLITE_BUSY, LOCKED, READONLY, IOERR, FULL, CANTOPEN: the file is temporarily unusable.
const sqliteTrouble = new Set([5, 6, 8, 10, 13, 14]);
const networkTrouble = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOSPC',
]);

/** Whether a store is unavailable or full, as opposed to an error of ours. */
function isStorageTrouble(error: unknown): boolean {
  const { code, errcode, message } = fieldsOf(error);
  if (error instanceof LogUnavailableError || error instanceof StoreUnavailableError) return true;
  if (code === 'ERR_SQLITE_ERROR') return typeof errcode === 'number' && sqliteTrouble.has(errcode & 0xff);
  // PostgreSQL classes: 08 connection, 53 resources, 57P shutdown, 58 system; 25006 read-only. 40001 (serialization) and 40P01
  // (deadlock) undid the transaction because of another one, and a retry succeeds.
  if (typeof code === 'string') {
    return networkTrouble.has(code) || /^(08|53|57P|58)|^(25006|40001|40P01)$/.test(code);
  }
  // The pool of pg has no codes for these two.
  return (
    typeof message === 'string' && /^(Connection terminated|timeout exceeded when trying to connect)/.test(message)
  );
}

function fieldsOf(error: unknown): Readonly<Record<string, unknown>> {
  return typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {};
}
