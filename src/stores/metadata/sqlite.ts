import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Kysely,
  SelectQueryNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
} from 'kysely';
import { backoffMs } from '../../base/retry.ts';
import type { Database, Metadata } from './database.ts';
import type { StoreVersion } from './store-version.ts';
import { createWriteLock, type Release } from './write-lock.ts';

/**
 * Limits of prepared statements per handle and of their total SQL; the least recently used is evicted first. A prepared statement
 * takes about ten times the memory of its text, which matters for inserts of thousands of rows.
 */
const statementsMax = 500;
const statementCharsMax = 1_000_000;
const sqliteBusy = 5;
/** Page cache of the writer. */
const cacheKibibytes = 64 * 1024;
/** Page cache of a reader: a list of a hundred events and their persons touches about 800 pages, more than the default of 2 MB. */
const readerCacheKibibytes = 8 * 1024;
/** Pages of 4 KiB in the WAL before a checkpoint: of several windows together, since they change many of the same pages. */
const pagesPerCheckpoint = 32_768;

export interface SqliteOptions {
  /** How long a statement waits for another thread or process that holds the file. Default 10 s. */
  readonly busyWaitMsMax?: number;
  /** How long a write waits for its turn among the writes of this thread. Default 30 s. */
  readonly lockWaitMsMax?: number;
}

/**
 * Opens the metadata store in one SQLite file, which several threads and processes may open concurrently.
 *
 * Reads outside a transaction use a read-only handle and never wait (WAL). Writes and transactions take turns on one writer handle.
 * SQLite's own waiting would block the thread, so it is off: a busy file is retried asynchronously for a limited time. Opening is
 * lazy: a file that cannot be opened fails the first query. `:memory:` is not possible, since the two handles would see different
 * databases.
 */
export function openSqlite(file: string, options: SqliteOptions = {}): Metadata {
  const driver = new SqliteDriver(file, options);
  return new Kysely<Database>({
    dialect: {
      createAdapter: () => new SharedSqliteAdapter(driver),
      createDriver: () => driver,
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
}

class SharedSqliteAdapter extends SqliteAdapter implements StoreVersion {
  readonly #driver: SqliteDriver;

  constructor(driver: SqliteDriver) {
    super();
    this.#driver = driver;
  }

  storeVersion(): number | undefined {
    return this.#driver.version();
  }

  /** Otherwise Kysely would block everything, including reads, while a transaction is open. */
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

class SqliteDriver implements Driver {
  readonly #file: string;
  readonly #whenFree: WhenFree;
  readonly #acquireLock: () => Promise<Release>;
  #writer: Handle | undefined;
  #reader: Handle | undefined;

  constructor(file: string, { busyWaitMsMax = 10_000, lockWaitMsMax = 30_000 }: SqliteOptions) {
    const lock = createWriteLock();
    this.#file = file;
    this.#whenFree = (attempt) => retryBusy(attempt, busyWaitMsMax);
    this.#acquireLock = () => lock.acquire(lockWaitMsMax);
  }

  async init(): Promise<void> {
    this.#writer = await openWriter(this.#file, this.#whenFree);
    this.#reader = await this.#whenFree(() => openReader(this.#file));
  }

  async acquireConnection(): Promise<SqliteConnection> {
    if (this.#writer === undefined || this.#reader === undefined) throw new Error('expected an open metadata store');
    return new SqliteConnection(
      { writer: this.#writer, reader: this.#reader, openReader: () => openReader(this.#file) },
      this.#acquireLock,
      this.#whenFree,
    );
  }

  /** Changes with every commit, since the reader never commits. Undefined if it cannot be read at present. */
  version(): number | undefined {
    try {
      return this.#reader?.version();
    } catch (error) {
      if (isBusy(error)) return undefined;
      throw error;
    }
  }

  async beginTransaction(connection: SqliteConnection): Promise<void> {
    await connection.begin();
  }
  async commitTransaction(connection: SqliteConnection): Promise<void> {
    await connection.commit();
  }
  async rollbackTransaction(connection: SqliteConnection): Promise<void> {
    connection.rollback();
  }
  async savepoint(connection: SqliteConnection, name: string): Promise<void> {
    connection.inTransaction(`savepoint ${quoted(name)}`);
  }
  async rollbackToSavepoint(connection: SqliteConnection, name: string): Promise<void> {
    connection.inTransaction(`rollback to ${quoted(name)}`);
  }
  async releaseSavepoint(connection: SqliteConnection, name: string): Promise<void> {
    connection.inTransaction(`release ${quoted(name)}`);
  }
  async releaseConnection(connection: SqliteConnection): Promise<void> {
    connection.rollback();
  }

  async destroy(): Promise<void> {
    this.#reader?.close();
    // Last, so that the writer folds the WAL into the file.
    this.#writer?.close();
  }
}

interface Handles {
  readonly writer: Handle;
  readonly reader: Handle;
  readonly openReader: () => Handle;
}

/** Decides per statement which handle it needs; holds the write lock from begin to commit or rollback. */
class SqliteConnection implements DatabaseConnection {
  readonly #handles: Handles;
  readonly #acquireLock: () => Promise<Release>;
  readonly #whenFree: WhenFree;
  #release: Release | undefined;

  constructor(handles: Handles, acquireLock: () => Promise<Release>, whenFree: WhenFree) {
    this.#handles = handles;
    this.#acquireLock = acquireLock;
    this.#whenFree = whenFree;
  }

  async begin(): Promise<void> {
    const release = await this.#acquireLock();
    try {
      // IMMEDIATE takes the file's write lock first: a transaction never fails half-way because another one wrote.
      await this.#whenFree(() => this.#handles.writer.exec('begin immediate'));
    } catch (error) {
      release();
      throw error;
    }
    this.#release = release;
  }

  async commit(): Promise<void> {
    await this.#whenFree(() => this.#handles.writer.exec('commit'));
    this.#endTransaction();
  }

  /** Does nothing outside a transaction. */
  rollback(): void {
    if (this.#release === undefined) return;
    try {
      // SQLite has already rolled back after some errors, such as a full disk.
      if (this.#handles.writer.inTransaction()) this.#handles.writer.exec('rollback');
    } finally {
      this.#endTransaction();
    }
  }

  inTransaction(sql: string): void {
    this.#handles.writer.exec(sql);
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#release !== undefined) return this.#handles.writer.run<R>(query);
    if (isRead(query)) return this.#whenFree(() => this.#handles.reader.run<R>(query));
    const release = await this.#acquireLock();
    try {
      return await this.#whenFree(() => this.#handles.writer.run<R>(query));
    } finally {
      release();
    }
  }

  /** Uses a separate handle: an open stream on the shared reader would keep every other read on its old snapshot. */
  async *streamQuery<R>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<R>> {
    const ownHandle = this.#release === undefined ? await this.#whenFree(this.#handles.openReader) : undefined;
    try {
      yield* (ownHandle ?? this.#handles.writer).stream<R>(query, chunkSize);
    } finally {
      ownHandle?.close();
    }
  }

  #endTransaction(): void {
    this.#release?.();
    this.#release = undefined;
  }
}

interface Prepared {
  readonly statement: StatementSync;
  readonly returnsRows: boolean;
}

/** One SQLite handle with its prepared statements. */
class Handle {
  readonly #db: DatabaseSync;
  readonly #prepared = new Map<string, Prepared>();
  #preparedChars = 0;
  #version: StatementSync | undefined;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  exec(sql: string): void {
    this.#db.exec(sql);
  }
  inTransaction(): boolean {
    return this.#db.isTransaction;
  }
  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  /** Changes when another handle has committed. */
  version(): number {
    this.#version ??= this.#db.prepare('pragma data_version');
    return Number(this.#version.get()?.['data_version']);
  }

  run<R>(query: CompiledQuery): QueryResult<R> {
    const { statement, returnsRows } = this.#prepare(query.sql);
    const parameters = query.parameters as readonly SQLInputValue[];
    // Sound: the row type is the caller's claim about its own SQL, as with every driver.
    if (returnsRows) return { rows: statement.all(...parameters) as R[] };
    const { changes, lastInsertRowid } = statement.run(...parameters);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  }

  *stream<R>(query: CompiledQuery, chunkSize: number): Generator<QueryResult<R>> {
    const statement = this.#db.prepare(query.sql);
    let rows: R[] = [];
    for (const row of statement.iterate(...(query.parameters as readonly SQLInputValue[]))) {
      rows.push(row as R);
      if (rows.length < chunkSize) continue;
      yield { rows };
      rows = [];
    }
    if (rows.length > 0) yield { rows };
  }

  #prepare(sql: string): Prepared {
    const known = this.#prepared.get(sql);
    if (known !== undefined) {
      // A Map keeps insertion order, so its first key is the least recently used one.
      this.#prepared.delete(sql);
      this.#prepared.set(sql, known);
      return known;
    }
    const statement = this.#db.prepare(sql);
    const prepared = { statement, returnsRows: statement.columns().length > 0 };
    this.#prepared.set(sql, prepared);
    this.#preparedChars += sql.length;
    this.#forgetOldest();
    return prepared;
  }

  #forgetOldest(): void {
    for (const oldest of this.#prepared.keys()) {
      if (this.#prepared.size <= statementsMax && this.#preparedChars <= statementCharsMax) return;
      this.#prepared.delete(oldest);
      this.#preparedChars -= oldest.length;
    }
  }
}

async function openWriter(file: string, whenFree: WhenFree): Promise<Handle> {
  try {
    // The file contains plugin secrets: only its owner may read it. SQLite gives its side files the same mode.
    closeSync(openSync(file, 'a', 0o600));
    const handle = new Handle(new DatabaseSync(file, { timeout: 0, enableForeignKeyConstraints: true }));
    await whenFree(() => handle.exec('pragma journal_mode = wal'));
    handle.exec('pragma synchronous = full');
    // Deleted rows must not stay readable in the file: persons can be erased.
    handle.exec('pragma secure_delete = on');
    // A window of events changes tens of thousands of rows in one transaction: with the default cache of 2 MB its pages would
    // go to the WAL several times, and with the default limit all of them into the file after every commit.
    handle.exec(`pragma cache_size = -${cacheKibibytes}`);
    handle.exec(`pragma wal_autocheckpoint = ${pagesPerCheckpoint}`);
    return handle;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `expected to open the metadata file ${file}, got: ${reason}; check that its directory exists and is writable`,
      { cause: error },
    );
  }
}

function openReader(file: string): Handle {
  const handle = new Handle(new DatabaseSync(file, { readOnly: true, timeout: 0 }));
  handle.exec(`pragma cache_size = -${readerCacheKibibytes}`);
  return handle;
}

function isRead(query: CompiledQuery): boolean {
  return SelectQueryNode.is(query.query) || /^\s*select\b/i.test(query.sql);
}

type WhenFree = <T>(attempt: () => T) => Promise<T>;

/** Runs `attempt` again, with pauses, while another thread or process holds the file. */
async function retryBusy<T>(attempt: () => T, busyWaitMsMax: number): Promise<T> {
  const deadline = performance.now() + busyWaitMsMax;
  for (let tries = 0; ; tries += 1) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() > deadline) {
        throw new Error(
          `expected the metadata file to be free within ${busyWaitMsMax} ms, got: still locked; ` +
            'another process holds a write transaction open',
          { cause: error },
        );
      }
    }
    await sleep(backoffMs(Math.min(tries, 10), 1, 20));
  }
}

/** SQLITE_BUSY and its extended codes. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === sqliteBusy;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
