import { Readable } from 'node:stream';
import {
  ClickHouseError,
  ClickHouseLogLevel,
  createClient,
  type ClickHouseClient,
  type ClickHouseSettings,
} from '@clickhouse/client';
import { insertError, queryError } from '../engine-errors.ts';
import { ServerAwayError, type QueryParam, type RowBatch } from '../eventstore.ts';

/** One ClickHouse server over HTTP: what its client does, with our errors. */
export interface ClickhouseServer {
  insert(sql: string, batch: RowBatch): Promise<void>;
  command(sql: string): Promise<void>;
  rows<Row>(sql: string, params?: Readonly<Record<string, QueryParam>>): Promise<Row[]>;
  /** Whether it answers at all, within a few seconds. */
  answers(): Promise<boolean>;
  close(): Promise<void>;
}

export type ReadSettings = ClickHouseSettings;

export interface ServerOptions {
  readonly queryTimeoutMs: number;
  /** For reading, besides those of every query. */
  readonly readSettings?: ReadSettings;
}

const insertTimeoutMs = 300_000;
/** The server ends a query by itself; the client waits a little longer to hear of it. */
const graceMs = 10_000;
const pingMsMax = 3000;

export function connectServer(url: URL, { queryTimeoutMs, readSettings }: ServerOptions): ClickhouseServer {
  const common = {
    url,
    application: 'millrace',
    // The client's own log would repeat statements and parameters; errors reach the caller anyway.
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
  return {
    async insert(query, batch) {
      try {
        const result = await writer.exec({ query, values: Readable.from(batch.chunks, { objectMode: false }) });
        await drain(result.stream);
      } catch (error) {
        throw engineFailure(error, insertError);
      }
    },
    command: (sql) => command(writer, sql),
    rows: (sql, params = {}) => rows(reader, sql, params),
    answers: () => answers(url),
    async close() {
      await writer.close();
      await reader.close();
    },
  };
}

async function command(client: ClickHouseClient, sql: string): Promise<void> {
  try {
    await client.command({ query: sql });
  } catch (error) {
    throw engineFailure(error, queryError);
  }
}

async function rows<Row>(
  client: ClickHouseClient,
  sql: string,
  params: Readonly<Record<string, QueryParam>>,
): Promise<Row[]> {
  try {
    const result = await client.query({ query: sql, query_params: { ...params }, format: 'JSONEachRow' });
    return await result.json<Row>();
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

function engineFailure(error: unknown, judge: (message: string, cause: unknown) => Error): Error {
  if (error instanceof ClickHouseError) return judge(`Code: ${error.code}. ${error.message}`, error);
  const { code, message } =
    error instanceof Error ? (error as NodeJS.ErrnoException) : { code: undefined, message: '' };
  // A network error's own message names the address, and this sentence is told to whoever asks for the service's health.
  return new ServerAwayError(`The ClickHouse server cannot be reached: ${code ?? message}`, { cause: error });
}
