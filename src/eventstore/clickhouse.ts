import { Readable } from 'node:stream';
import { ClickHouseError, ClickHouseLogLevel, createClient, type ClickHouseClient } from '@clickhouse/client';
import { insertError, queryError } from './engine-errors.ts';
import type { EventStore, QueryParam } from './eventstore.ts';
import { StoreUnavailableError } from './eventstore.ts';
import { migrateStore } from './schema.ts';
import { damagedPartsSql, deleteRunSql, healthOf, insertSql, type DamagedPart } from './sql.ts';

export interface ClickhouseOptions {
  readonly queryTimeoutMs?: number;
}

const insertTimeoutMs = 300_000;
/** The server ends a query by itself; the client waits a little longer to hear of it. */
const graceMs = 10_000;

/**
 * The event store on a ClickHouse server, over HTTP. `url`: http(s)://user:password@host:8123/database; the database exists.
 * Throws StoreUnavailableError when the server cannot be reached, StoreSchemaTooNewError when its tables are newer.
 */
export async function connectClickhouse(url: string, options: ClickhouseOptions = {}): Promise<EventStore> {
  const queryTimeoutMs = options.queryTimeoutMs ?? 30_000;
  const common = {
    url: checkUrl(url),
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
    },
  });
  const store = clickhouseStore(writer, reader);
  try {
    await migrateStore({
      command: (sql) => command(writer, sql),
      rows: async <Row>(sql: string) => await rows<Row>(reader, sql, {}),
    });
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

function checkUrl(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed && /^https?:$/.test(parsed.protocol)) return parsed;
  // What came is not shown: it may hold the password.
  throw new TypeError('expected CLICKHOUSE_URL to be like http://user:password@host:8123/database, got something else');
}

function clickhouseStore(writer: ClickHouseClient, reader: ClickHouseClient): EventStore {
  return {
    async insertBatch(batch, token) {
      const query = insertSql(token, '');
      if (batch.rows === 0) return;
      try {
        const result = await writer.exec({ query, values: Readable.from(batch.chunks, { objectMode: false }) });
        await drain(result.stream);
      } catch (error) {
        throw engineFailure(error, insertError);
      }
    },
    deleteRun: async (rows) => await command(writer, deleteRunSql(rows)),
    query: (sql, params = {}) => rows(reader, sql, params),
    async health() {
      try {
        return healthOf(await rows<DamagedPart>(reader, damagedPartsSql, {}));
      } catch (error) {
        return { ok: false, detail: error instanceof Error ? error.message : String(error) };
      }
    },
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

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const chunk of stream) void chunk;
}

function engineFailure(error: unknown, judge: (message: string, cause: unknown) => Error): Error {
  if (error instanceof ClickHouseError) return judge(`Code: ${error.code}. ${error.message}`, error);
  const { code, message } =
    error instanceof Error ? (error as NodeJS.ErrnoException) : { code: undefined, message: '' };
  // A network error's own message names the address, and this sentence is told to whoever asks for the service's health.
  return new StoreUnavailableError(`The ClickHouse server cannot be reached: ${code ?? message}`, { cause: error });
}
