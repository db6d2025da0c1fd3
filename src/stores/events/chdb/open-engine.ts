import { join } from 'node:path';
import type { ProcessOptions } from './messages.ts';
import type { Engine } from './serve-engine.ts';
import type { WireParam } from './requests.ts';
import { parseLines } from '../json-lines.ts';
import { removeExpiredRows } from '../expired-rows.ts';
import { runTableName } from '../run-table-names.ts';
import { runTableSql } from '../run-tables.ts';
import { migrateStore } from '../migrate-store.ts';
import { eraseTable, type TableAccess } from '../erase-table.ts';
import { eraseTextMax, nudgeSql } from '../erase-sql.ts';
import { damagedPartsSql, deleteRunSql, insertSql, type DamagedPart, type InsertTarget } from '../sql.ts';
import { availableParallelism } from 'node:os';
import { readdirSync, readFileSync, truncateSync } from 'node:fs';

/**
 * Sessions of the embedded engine. One session is one serial lane, so there is one for inserts, one for deletes and one for the
 * tables of runs, which take longer and must not block inserts, and several for reading.
 *
 * Reads go through the streaming call: the one-shot call with parameters runs one at a time in the whole process. Settings
 * are set once per session and never changed by a call, except those of an insert, which are in its text.
 */
const readers = 3;
const waitingReadsMax = 200;
const resultBytesMax = 256 * 1024 * 1024;
const spoolName = /^[0-9a-f-]{36}\.native$/;

interface QueryResult {
  readonly rowsRead: number;
  bytes(): Uint8Array;
}

/** The used part of chDB's Session. */
export interface Session {
  queryAsync(sql: string, options?: { readonly format?: 'JSONEachRow' }): Promise<QueryResult>;
  queryStreamBind(sql: string, params: object): AsyncIterable<{ readonly numBytes: number; raw(): Uint8Array }>;
}

export interface OpenEngine extends Engine {
  /** Age of the oldest running call in ms, 0 when idle. */
  insertMs(): number;
  queryMs(): number;
}

type OpenSession = (dir: string, connectionArgs: readonly string[]) => Session;

export async function openEngine(open: OpenSession, options: ProcessOptions): Promise<OpenEngine> {
  const connectionArgs = [
    `--max_server_memory_usage=${options.memoryBytesMax}`,
    `--mark_cache_size=${Math.floor(options.memoryBytesMax / 8)}`,
    '--uncompressed_cache_size=0',
    ...backgroundArgs(),
  ];
  const writer = open(options.dir, connectionArgs);
  await run(writer, 'CREATE DATABASE IF NOT EXISTS millrace ENGINE = Atomic');
  await run(writer, 'USE millrace');
  const access = accessOf(writer);
  await migrateStore(access);
  await forgetUnstoredTokens(access);
  const remover = open(options.dir, connectionArgs);
  await run(remover, 'USE millrace');
  await run(remover, `SET max_query_size = ${eraseTextMax}`);
  const importer = open(options.dir, connectionArgs);
  await run(importer, 'USE millrace');
  const pool = readerPool(await openReaders(open, options, connectionArgs));
  const inserts = stopwatch();
  const queries = stopwatch();
  const [inLineToInsert, inLineToDelete, inLineOfRuns] = [serialLane(), serialLane(), serialLane()];
  return {
    insert(file, rows, token, into) {
      const [inLine, session] = into === undefined ? [inLineToInsert, writer] : [inLineOfRuns, importer];
      const target = into && { table: runTableName(into), settings: [] };
      return inLine(() => inserts.time(() => insertFile(session, options.spoolDir, { file, rows, token, target })));
    },
    deleteRun: (rows) => inLineToDelete(() => run(remover, deleteRunSql(rows))),
    removeExpired: (month, expiries) => {
      const table = { ...accessOf(remover), table: 'events' };
      return inLineToDelete(() => removeExpiredRows(table, month, expiries));
    },
    erase: (rows) => inLineToDelete(() => eraseTable(accessOf(remover), 'events', rows)),
    nudge: () => inLineToDelete(() => run(remover, nudgeSql('events'))),
    changeRunTable: (change) =>
      inLineOfRuns(async () => {
        for (const sql of runTableSql(change)) await run(importer, sql);
      }),
    query: (sql, params) =>
      pool((session) =>
        queries.time(() =>
          sql.startsWith('CHECK TABLE ') ? collectCheck(session, sql) : collect(session, sql, params),
        ),
      ),
    damagedParts: async () =>
      parseLines<DamagedPart>(await pool((session) => queries.time(() => collect(session, damagedPartsSql, {})))),
    insertMs: inserts.oldestMs,
    queryMs: queries.oldestMs,
  };
}

function accessOf(session: Session): TableAccess {
  return {
    command: (sql) => run(session, sql),
    rows: async <Row>(sql: string) => parseLines<Row>(await collect(session, sql, {})),
  };
}

async function openReaders(open: OpenSession, options: ProcessOptions, args: readonly string[]): Promise<Session[]> {
  const settings = [
    `max_execution_time = ${options.queryTimeoutMs / 1000}`,
    `max_memory_usage = ${Math.floor(options.memoryBytesMax / 2)}`,
    `max_bytes_before_external_group_by = ${Math.floor(options.memoryBytesMax / 8)}`,
    `max_bytes_before_external_sort = ${Math.floor(options.memoryBytesMax / 8)}`,
    'output_format_json_quote_64bit_integers = 1',
    // Equal identities share their day, and with it the partition.
    'do_not_merge_across_partitions_select_final = 1',
    // Results are small or streamed: parallel formatting costs more than it saves.
    'output_format_parallel_formatting = 0',
    // Read-only; a query may have its own settings.
    'readonly = 2',
  ];
  const sessions: Session[] = [];
  for (let i = 0; i < readers; i++) {
    const session = open(options.dir, args);
    await run(session, 'USE millrace');
    await run(session, `SET ${settings.join(', ')}`);
    sessions.push(session);
  }
  return sessions;
}

/** Runs work in sequence; a failure does not stop the next. */
function serialLane(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}

interface FileInsert {
  readonly file: string;
  readonly rows: number;
  readonly token: string;
  /** `undefined` means `events`. */
  readonly target: InsertTarget | undefined;
}

async function insertFile(writer: Session, spoolDir: string, insert: FileInsert): Promise<void> {
  const { file, rows, token, target } = insert;
  if (!spoolName.test(file)) throw new TypeError(`expected the name of a spool file, got ${JSON.stringify(file)}`);
  const path = join(spoolDir, file).replace(/[\\']/g, '\\$&');
  const result = await writer.queryAsync(insertSql(token, `FROM INFILE '${path}'`, target));
  // Otherwise a missing or partial file would look like success.
  if (result.rowsRead !== rows) {
    throw new Error(`expected the engine to read ${rows} rows from the spool file, it read ${result.rowsRead}`);
  }
}

async function run(session: Session, sql: string): Promise<void> {
  await session.queryAsync(sql);
}

/** CHECK is not possible with the streaming call, which only supports reads. */
async function collectCheck(session: Session, sql: string): Promise<Buffer> {
  return Buffer.from((await session.queryAsync(sql, { format: 'JSONEachRow' })).bytes());
}

async function collect(session: Session, sql: string, params: Readonly<Record<string, WireParam>>): Promise<Buffer> {
  const bound: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(params)) {
    bound[name] = typeof value === 'object' && 'bigint' in value ? BigInt(value.bigint) : value;
  }
  const stream = session.queryStreamBind(sql, bound);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.numBytes;
    if (size > resultBytesMax) {
      throw new Error(`Code: 396. The result is larger than ${resultBytesMax} bytes; narrow the query.`);
    }
    chunks.push(Buffer.from(chunk.raw()));
  }
  return Buffer.concat(chunks);
}

/** Gives each call a separate session; calls beyond the number of sessions wait their turn. */
function readerPool(sessions: Session[]): <T>(use: (session: Session) => Promise<T>) => Promise<T> {
  const free = [...sessions];
  const waiting: ((session: Session) => void)[] = [];
  const take = (): Promise<Session> => {
    const session = free.pop();
    if (session) return Promise.resolve(session);
    if (waiting.length >= waitingReadsMax) {
      return Promise.reject(new Error(`Code: 202. More than ${waitingReadsMax} queries are waiting; try again later.`));
    }
    return new Promise((resolve) => waiting.push(resolve));
  };
  return async (use) => {
    const session = await take();
    try {
      return await use(session);
    } finally {
      const next = waiting.shift();
      if (next) next(session);
      else free.push(session);
    }
  };
}

interface Stopwatch {
  time<T>(work: () => Promise<T>): Promise<T>;
  oldestMs(): number;
}

function stopwatch(): Stopwatch {
  const started = new Set<{ readonly at: number }>();
  return {
    async time(work) {
      const entry = { at: performance.now() };
      started.add(entry);
      try {
        return await work();
      } finally {
        started.delete(entry);
      }
    },
    oldestMs: () => {
      // A Set keeps the order of insertion.
      const [oldest] = started;
      return oldest ? performance.now() - oldest.at : 0;
    },
  };
}

/** Tasks that may wait for one of the threads. */
const tasksMin = 16;
const threadsMax = 16;

/**
 * Arguments for merges and deletes. Tasks that do not fit into the queue of the background threads are retried after a growing pause. By
 * default the embedded engine has room for two tasks per processor, and a delete, which is a task per part, then spends all of its
 * time on pauses: 18 s for 120 parts on two processors, with half a second of work.
 */
export function backgroundArgs(processors = availableParallelism()): readonly string[] {
  const threads = Math.min(threadsMax, Math.max(2, processors));
  const tasks = Math.max(2, Math.ceil(tasksMin / threads));
  return [`--background_pool_size=${threads}`, `--background_merges_mutations_concurrency_ratio=${tasks}`];
}

interface LastToken {
  readonly path: string;
  /** Length of the file without its last line. */
  readonly bytesBefore: number;
  readonly partition: string;
  readonly block: string;
}

const logFile = /^deduplication_log_(\d+)\.txt$/;
/** `1`: added; then the part, one per insert and month: partition, first and last block, level. */
const addedLine = /^1\t([^\t_]+)_(\d+)_\d+_\d+\t/;

interface TokenTable {
  readonly name: string;
  readonly path: string;
}

/**
 * Removes tokens without rows. The engine records the token of an insert just before it gives the insert's part its name. A kill between
 * the two leaves a token without rows, and a retry of the insert would be mistaken for stored. Inserts into a table (`events`, or that of
 * a run) are sequential, so only the last token can be affected: it is removed if neither its part exists nor one that it was merged
 * into.
 */
async function forgetUnstoredTokens(access: TableAccess): Promise<void> {
  const tables = await access.rows<TokenTable>(
    `SELECT name, data_paths[1] AS path FROM system.tables
WHERE database = currentDatabase() AND engine = 'ReplacingMergeTree' AND match(name, '^[A-Za-z0-9_]+$')
  AND position(engine_full, 'non_replicated_deduplication_window') > 0`,
  );
  for (const table of tables) await forgetUnstoredToken(access, table);
}

async function forgetUnstoredToken({ command, rows }: TableAccess, { name, path }: TokenTable): Promise<void> {
  const last = lastTokenOf(join(path, 'deduplication_logs'));
  if (last === undefined) return;
  const parts = await rows(`SELECT name FROM system.parts
WHERE database = currentDatabase() AND table = '${name}' AND active AND partition_id = '${last.partition}'
  AND min_block_number <= ${last.block} AND max_block_number >= ${last.block}`);
  if (parts.length > 0) return;
  // The engine caches the tokens and reads them when it opens the table.
  await command(`DETACH TABLE ${name}`);
  try {
    truncateSync(last.path, last.bytesBefore);
  } finally {
    await command(`ATTACH TABLE ${name}`);
  }
}

/** Returns undefined if there is no token, or the last entry is a dropped part. */
function lastTokenOf(directory: string): LastToken | undefined {
  for (const name of newestFirst(directory)) {
    const path = join(directory, name);
    const text = readFileSync(path, 'latin1');
    const end = text.trimEnd();
    if (end === '') continue;
    const from = end.lastIndexOf('\n') + 1;
    const [, partition, block] = addedLine.exec(end.slice(from)) ?? [];
    if (partition === undefined || block === undefined) return undefined;
    return { path, bytesBefore: from, partition, block };
  }
  return undefined;
}

function newestFirst(directory: string): string[] {
  const numberOf = (name: string): number => Number(logFile.exec(name)?.[1]);
  const names = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isFile());
  return names
    .map(({ name }) => name)
    .filter((name) => logFile.test(name))
    .sort((a, b) => numberOf(b) - numberOf(a));
}
