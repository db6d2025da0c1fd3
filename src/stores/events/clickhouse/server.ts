import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  ClickHouseError,
  ClickHouseLogLevel,
  createClient,
  type ClickHouseClient,
  type ClickHouseSettings,
} from '@clickhouse/client';
import { eraseTextMax } from '../erase-sql.ts';
import { engineCode, insertError, queryError } from '../engine-errors.ts';
import { ServerAwayError, type QueryParam, type RowBatch } from '../eventstore.ts';
import { splitLargeParams } from './large-params.ts';
import { whileAnswering } from './while-answering.ts';

/** One ClickHouse server over HTTP. Wraps its client with the errors of the port. */
export interface ClickhouseServer {
  /** Host and port, for messages. */
  readonly host: string;
  insert(sql: string, batch: RowBatch): Promise<void>;
  command(sql: string, settings?: ServerSettings): Promise<void>;
  rows<Row>(sql: string, params?: Readonly<Record<string, QueryParam>>): Promise<Row[]>;
  /** Queries one text column and returns its values, each followed by a newline. */
  lines(sql: string): Promise<Buffer>;
  /** Returns whether the user has a right: `SELECT ON system.parts`. Servers before 24.11 have no such statement (code 62). */
  hasRight(right: string): Promise<boolean>;
  /** Checks whether the server answers within a few seconds. */
  answers(): Promise<boolean>;
  close(): Promise<void>;
}

export type ServerSettings = ClickHouseSettings;

/** Its text must neither be too long nor be logged by the server. */
export const eraseSettings: ServerSettings = { max_query_size: String(eraseTextMax), log_queries: 0 };

export interface ServerOptions {
  readonly queryTimeoutMs: number;
  /** Additional settings for reads. */
  readonly readSettings?: ServerSettings;
}

const insertTimeoutMs = 300_000;
/** The server enforces the query's time limit; the client waits slightly longer for its error. */
const graceMs = 10_000;
const pingMsMax = 3000;

export function connectServer(url: URL, { queryTimeoutMs, readSettings }: ServerOptions): ClickhouseServer {
  const common = {
    url,
    application: 'millrace',
    // The client's log would repeat statements and parameters; errors reach the caller anyway.
    log: { level: ClickHouseLogLevel.OFF },
    use_multipart_params_auto: true,
  };
  const writer = createClient({
    ...common,
    request_timeout: insertTimeoutMs,
    clickhouse_settings: { wait_end_of_query: 1 },
  });
  const reader = createClient({
    ...common,
    request_timeout: queryTimeoutMs + graceMs,
    clickhouse_settings: {
      readonly: '2',
      wait_end_of_query: 1,
      max_execution_time: queryTimeoutMs / 1000,
      output_format_json_quote_64bit_integers: 1,
      // Equal identities share their day, and with it the partition.
      do_not_merge_across_partitions_select_final: 1,
      ...readSettings,
    },
  });
  const isAnswering = (): Promise<boolean> => answers(url);
  return {
    host: url.host,
    insert: (query, batch) =>
      whileAnswering(isAnswering, async (signal) => {
        try {
          const values = Readable.from(batch.chunks, { objectMode: false });
          const result = await writer.exec({ query, values, abort_signal: signal });
          await drain(result.stream);
        } catch (error) {
          throw engineFailure(error, insertError);
        }
      }),
    command: (sql, settings = {}) => whileAnswering(isAnswering, (signal) => command(writer, sql, settings, signal)),
    rows: (sql, params = {}) => whileAnswering(isAnswering, (signal) => rows(reader, sql, params, signal)),
    lines: (sql) => whileAnswering(isAnswering, (signal) => lines(reader, sql, signal)),
    hasRight: (right) => whileAnswering(isAnswering, async (signal) => await hasRight(writer, right, signal)),
    answers: isAnswering,
    async close() {
      await writer.close();
      await reader.close();
    },
  };
}

async function command(
  client: ClickHouseClient,
  sql: string,
  settings: ServerSettings,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.command({ query: sql, clickhouse_settings: settings, abort_signal: signal });
  } catch (error) {
    throw engineFailure(error, queryError);
  }
}

async function rows<Row>(
  client: ClickHouseClient,
  sql: string,
  params: Readonly<Record<string, QueryParam>>,
  signal: AbortSignal,
): Promise<Row[]> {
  const bound = splitLargeParams(sql, params);
  try {
    const result = await client.query({
      query: bound.sql,
      query_params: { ...bound.params },
      format: 'JSONEachRow',
      abort_signal: signal,
    });
    return await result.json<Row>();
  } catch (error) {
    throw engineFailure(error, queryError);
  }
}

async function lines(client: ClickHouseClient, query: string, signal: AbortSignal): Promise<Buffer> {
  try {
    const result = await client.exec({ query: `${query} FORMAT TSVRaw`, abort_signal: signal });
    return await buffer(result.stream);
  } catch (error) {
    throw engineFailure(error, queryError);
  }
}

/** The statement takes no format. A client that only reads has no right to write. */
async function hasRight(client: ClickHouseClient, right: string, signal: AbortSignal): Promise<boolean> {
  try {
    const result = await client.exec({ query: `CHECK GRANT ${right}`, abort_signal: signal });
    return (await buffer(result.stream)).toString('utf8').trim() === '1';
  } catch (error) {
    throw engineFailure(error, queryError);
  }
}

async function answers({ origin }: URL): Promise<boolean> {
  const response = await fetch(`${origin}/ping`, { signal: AbortSignal.timeout(pingMsMax) }).catch(() => undefined);
  await response?.body?.cancel();
  return response?.ok === true;
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const chunk of stream) void chunk;
}

/**
 * Converts an error of the client: an exception of the engine, a refusal with an engine code that the client does not parse (a form
 * that its HTTP handler rejects), or a connection failure. Only the last means that the server is unavailable.
 */
function engineFailure(error: unknown, toError: (message: string, cause: unknown) => Error): Error {
  if (error instanceof ClickHouseError) return toError(`Code: ${error.code}. ${error.message}`, error);
  const { code, message } =
    error instanceof Error ? (error as NodeJS.ErrnoException) : { code: undefined, message: '' };
  if (engineCode(message) !== 0) return toError(message, error);
  // A network error's message contains the address, and any client that requests the service's health sees this message.
  return new ServerAwayError(`The ClickHouse server cannot be reached: ${code ?? message}`, { cause: error });
}
