import { ServerAwayError, StoreDeniedError, StoreUnavailableError } from './eventstore.ts';

/**
 * Error codes of the engine that are caused by the rows themselves: a retry cannot help. All other failures of an insert (disk full, too
 * many parts, out of memory, a lost table) are faults of the store, and may be temporary.
 */
const dataErrorCodes = new Set([
  6, // CANNOT_PARSE_TEXT
  27, // CANNOT_PARSE_INPUT_ASSERTION_FAILED
  32, // ATTEMPT_TO_READ_AFTER_EOF
  33, // CANNOT_READ_ALL_DATA
  69, // ARGUMENT_OUT_OF_BOUND
  117, // INCORRECT_DATA
  128, // TOO_LARGE_ARRAY_SIZE
  131, // TOO_LARGE_STRING_SIZE
]);

/** Codes for a busy store or a query that is too heavy rather than wrong. */
const overloadCodes = new Set([
  159, // TIMEOUT_EXCEEDED
  160, // TOO_SLOW
  202, // TOO_MANY_SIMULTANEOUS_QUERIES
  241, // MEMORY_LIMIT_EXCEEDED
  396, // TOO_MANY_ROWS_OR_BYTES
  341, // UNFINISHED: a delete continues in the background because a replica is unavailable
  369, // ALL_REPLICAS_ARE_STALE
]);

/** Codes for a server that is cut off from others, so that another one may succeed. */
const cutOffCodes = new Set([
  209, // SOCKET_TIMEOUT
  210, // NETWORK_ERROR
  225, // NO_ZOOKEEPER
  242, // TABLE_IS_READ_ONLY
  279, // ALL_CONNECTION_TRIES_FAILED
  319, // UNKNOWN_STATUS_OF_INSERT: the quorum is unknown; the same token at another replica resolves it
  667, // NOT_INITIALIZED: the table is still being opened
  999, // KEEPER_EXCEPTION
]);

/** Codes for a fault of one server's disk or tables, which its replicas need not have. */
const ownCodes = new Set([
  60, // UNKNOWN_TABLE: it lost its disk, and its tables are not created again yet
  75, // CANNOT_WRITE_TO_FILE_DESCRIPTOR: the disk is full
  81, // UNKNOWN_DATABASE
  243, // NOT_ENOUGH_SPACE
]);

const accessDenied = 497;
const unknownDatabase = 81;

/**
 * Codes of a query for bytes that end too early: those of stored rows, or those that another server sent when it ended, which
 * `whileReceiving` in the message tells apart.
 */
const tooShortCodes = new Set([
  32, // ATTEMPT_TO_READ_AFTER_EOF
  33, // CANNOT_READ_ALL_DATA
]);
const whileReceiving = 'while receiving packet from';

/** Returns the code in the engine's messages `Code: 241. DB::Exception: …` and `Code: 1000, e.code() = …`; otherwise 0. */
export function engineCode(message: string): number {
  return Number(/\bCode: (\d+)[.,]/.exec(message)?.[1] ?? 0);
}

/** Returns whether another replica of the shard may succeed where a server failed with this error. */
export function isOfOneServer(error: unknown): boolean {
  return error instanceof ServerAwayError || (error instanceof Error && ownCodes.has(engineCode(error.message)));
}

export function insertError(message: string, cause?: unknown): Error {
  const text = `The event store refused an insert: ${message}`;
  const code = engineCode(message);
  if (dataErrorCodes.has(code)) return new Error(text, { cause });
  return cutOffCodes.has(code) ? new ServerAwayError(text, { cause }) : new StoreUnavailableError(text, { cause });
}

export function queryError(message: string, cause?: unknown): Error {
  const code = engineCode(message);
  if (cutOffCodes.has(code) || (tooShortCodes.has(code) && message.includes(whileReceiving)))
    return new ServerAwayError(`The event store is cut off: ${message}`, { cause });
  if (code === accessDenied) return new StoreDeniedError(`The event store denied a query: ${message}`, { cause });
  if (code === unknownDatabase) {
    const advice = 'Create the database named in CLICKHOUSE_URL (on every server of a cluster) and start again.';
    return new Error(`The event store refused a query: ${message} ${advice}`, { cause });
  }
  return overloadCodes.has(code)
    ? new StoreUnavailableError(`The event store aborted a query: ${message}`, { cause })
    : new Error(`The event store refused a query: ${message}`, { cause });
}
