/**
 * Port: the event store, ClickHouse's engine embedded (chDB) or as a server. One SQL text (sql.ts), thin transports.
 *
 * Promises (checked by conformance.ts for every adapter)
 * - `insertBatch` with the same token, whole or after a partial write, leaves every row stored once.
 * - Once it resolves, the rows survive a kill.
 * - `query` binds parameters in the engine; no value ever becomes SQL text.
 * - `deleteRun` removes the rows whose `$import_run_id` is the run, of those days, and no other row. Once it resolves no read sees
 *   them, also after a kill; a row of the same identity that somebody else stored is seen from then on. Again, it changes nothing.
 */
export interface RowBatch {
  /** One block in ClickHouse's Native format, as EventRowWriter makes it: the bytes of all chunks, one after the other. */
  readonly chunks: readonly Uint8Array[];
  readonly rows: number;
}

export interface RunRef {
  readonly projectId: number;
  /** 1 to 100 letters, digits and `-`. */
  readonly runId: string;
}

/** What one import run stored of some days of the events' identity, `2024-03-01`; both ends included. */
export interface RunDays extends RunRef {
  readonly from: string;
  readonly to: string;
}

export type QueryParam = string | number | bigint | boolean | readonly string[] | readonly number[];

export interface StoreHealth {
  readonly ok: boolean;
  /** One sentence an operator can act on; empty when there is nothing to do. */
  readonly detail: string;
}

export interface DeleteWatch {
  /** Ends the wait, not the delete: what the engine has begun it finishes. */
  readonly signal?: AbortSignal;
  /** Called every few seconds while something keeps the delete from ending, with one sentence about what it is. */
  readonly onWait?: (reason: string) => void;
}

export interface EventStore {
  /** Token: at most 200 characters of `[A-Za-z0-9_:.-]`, unique per batch content, the same at every retry. */
  insertBatch(batch: RowBatch, token: string): Promise<void>;
  deleteRun(rows: RunDays, watch?: DeleteWatch): Promise<void>;
  /** Read only. `{name:Type}` placeholders take `params`. 64-bit integers come back as strings. */
  query<Row>(sql: string, params?: Readonly<Record<string, QueryParam>>): Promise<Row[]>;
  health(): Promise<StoreHealth>;
  close(): Promise<void>;
}

/** For whoever only reads. */
export type StoreReader = Pick<EventStore, 'query'>;

/** The store cannot be reached or refuses work for now; the same call may succeed later. */
export class StoreUnavailableError extends Error {
  override name = 'StoreUnavailableError';
}

/** The embedded engine cannot work here at all; the message says what to do. */
export class StoreStartError extends Error {
  override name = 'StoreStartError';
  /** There is no program of it for this platform. */
  readonly isPlatform: boolean;

  constructor(message: string, { isPlatform = false } = {}) {
    super(message);
    this.isPlatform = isPlatform;
  }
}

/** One server of several cannot be reached, or has lost the others; another one may do the same work. */
export class ServerAwayError extends StoreUnavailableError {
  override name = 'ServerAwayError';
}

/** The user that we are at the store may not do this. */
export class StoreDeniedError extends Error {
  override name = 'StoreDeniedError';
}
