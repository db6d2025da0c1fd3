import type { ProjectExpiry, RemovedRows } from './expired-rows.ts';
import type { EventFilter } from './filters.ts';

/**
 * Port: the event store, ClickHouse's engine embedded (chDB) or as a server. One SQL text (sql.ts), thin transports.
 *
 * Promises (tested by test/conformance/event-store for every adapter)
 * - `insertBatch` with the same token, whole or after a partial write, leaves every row stored once.
 * - Once it resolves, the rows survive a kill.
 * - `query` binds parameters in the engine; no value ever becomes SQL text.
 * - `deleteRun` removes the rows whose `$import_run_id` is the run, of those days, and no other row. Once it resolves no read sees
 *   them, also after a kill; a row of the same identity from elsewhere becomes visible. Repeating it changes nothing.
 * - `removeExpired` removes the rows of the month that have expired, and no other row, whatever is inserted at the same time. Once it
 *   resolves no read sees them, and the engine frees their disk space on its own. Repeating it changes nothing.
 * - `erase` removes every stored row that matches, also hidden ones and those that `deleteRun` only marked. Once it resolves, no file of
 *   the table contains them, neither do replaced parts nor the records of deletions. Rows inserted in the meantime may stay. It may
 *   be repeated.
 */
export interface RowBatch {
  /** One block in ClickHouse's Native format, as EventRowWriter creates it: the bytes of all chunks in sequence. */
  readonly chunks: readonly Uint8Array[];
  readonly rows: number;
}

export interface RunRef {
  readonly projectId: number;
  /** 1 to 100 letters, digits and `-`. */
  readonly runId: string;
}

/** The rows of one import run for a range of days of the events' identity, `2024-03-01`, both inclusive. */
export interface RunDays extends RunRef {
  readonly from: string;
  readonly to: string;
}

export interface EraseRows {
  readonly projectId: number;
  /** Without conditions all events of the project. */
  readonly filter: EventFilter;
}

export type QueryParam = string | number | bigint | boolean | readonly string[] | readonly number[];

export interface StoreHealth {
  readonly ok: boolean;
  /** One sentence that an operator can act on. Empty if nothing is wrong. */
  readonly detail: string;
}

export interface DeleteWatch {
  /** Ends the wait, not the delete, which the engine finishes. */
  readonly signal?: AbortSignal;
  /** Called every few seconds while something delays the delete, with the reason as one sentence. */
  readonly onWait?: (reason: string) => void;
}

export interface EventStore {
  /**
   * Token: at most 200 characters of `[A-Za-z0-9_:.-]`, unique per batch content, the same at every retry. `isRepeated`: another process may
   * have tried before; default false.
   */
  insertBatch(batch: RowBatch, token: string, isRepeated?: boolean): Promise<void>;
  deleteRun(rows: RunDays, watch?: DeleteWatch): Promise<void>;
  /** Month of the events' `day`: 202403 is March 2024. */
  removeExpired(month: number, expiries: readonly ProjectExpiry[]): Promise<RemovedRows>;
  erase(rows: EraseRows, watch?: DeleteWatch): Promise<void>;
  /** Read only. `{name:Type}` placeholders take `params`. 64-bit integers are returned as strings. */
  query<Row>(sql: string, params?: Readonly<Record<string, QueryParam>>): Promise<Row[]>;
  /**
   * Resolves once reads include everything that was stored before, in the events and in the tables of the run: a replica that has just
   * taken over may lack the newest rows for some seconds. Callers that must not miss a row call it first.
   */
  waitForReplicas(run?: RunRef): Promise<void>;
  health(): Promise<StoreHealth>;
  close(): Promise<void>;
}

/** For callers that only read. */
export type StoreReader = Pick<EventStore, 'query'>;

/** The store is unreachable or refuses work at present; the same call may succeed later. */
export class StoreUnavailableError extends Error {
  override name = 'StoreUnavailableError';
}

/** The embedded engine cannot run here; the message states what to do. */
export class StoreStartError extends Error {
  override name = 'StoreStartError';
  /** Whether the engine has no binary for this platform. */
  readonly isPlatform: boolean;

  constructor(message: string, { isPlatform = false } = {}) {
    super(message);
    this.isPlatform = isPlatform;
  }
}

/** One server of several is unreachable, or has lost the others; another one may do the same work. */
export class ServerAwayError extends StoreUnavailableError {
  override name = 'ServerAwayError';
}

/** The store's user lacks a permission. */
export class StoreDeniedError extends Error {
  override name = 'StoreDeniedError';
}
