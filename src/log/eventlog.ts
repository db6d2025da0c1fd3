/**
 * Port: the event log, where an accepted request waits until its events are stored.
 *
 * Terms
 * - lane: live and historical requests have separate queues, so that years of history never delay live events.
 * - record: one accepted request: its body as received, with what is needed to process it twice in the same way.
 * - slot: a log is divided into slots, 0 … slots - 1; all records of a project are in one, or, if the project is spread, all records of
 *   a distinct id (slot-of.ts). The files of one machine are one slot.
 * - seq: position of a record in its slot and lane; strictly increasing, never reused.
 *
 * Promises (tested by test/conformance/event-log for every adapter)
 * - `append` resolves only after the record survives a kill or a power cut.
 * - `read` returns complete records in order of seq, each as it was appended, or marked as damaged.
 * - A record is readable until it is committed; after that it may be deleted at any time.
 */
export const lanes = ['live', 'historical'] as const;
export type Lane = (typeof lanes)[number];

/** `zstd-ndjson`: events as JSON lines without a final \n, in one zstd frame, as imports stage them. */
export type BodyEncoding = (typeof bodyEncodings)[number];
export const bodyEncodings = ['identity', 'gzip', 'zstd-ndjson'] as const;

export interface RecordHeader {
  readonly projectId: number;
  /** ms since the epoch. */
  readonly receivedAt: number;
  /** When the sender claims to have sent the body (ms since the epoch). If absent, clocks are not corrected. */
  readonly sentAt?: number;
  /** Address of the sender; becomes `$ip` of live events without one. */
  readonly ip?: string;
  readonly encoding: BodyEncoding;
  /** Number of events in the body, for backpressure and gauges. */
  readonly events: number;
  /** Id of the HTTP request, for finding it in the service's log. */
  readonly requestId: string;
  /** Part of a spread project that the events belong to, which decides the slot. If absent, the first part. */
  readonly part?: number;
  /** Set if the events already have rows in the event store. If absent, rows are stored as well. */
  readonly rowsStored?: RowsStored;
  /** Context of the batch's span, if it is traced (W3C Trace Context). */
  readonly traceparent?: string;
  /** Format that a program must know to process the record, 1 if absent (FORMAT.md, "Changes of the format"). */
  readonly format?: number;
}

/** The newest format of records that this program processes. */
export const recordFormat = 1;

/**
 * What events with stored rows update: persons, groups or (true) both, and nothing else. They may be fewer than the rows, with
 * fewer properties (imports/stages/check).
 */
export type RowsStored = (typeof rowsStoredFor)[number];
export const rowsStoredFor = [true, 'persons', 'groups'] as const;

export interface LogRecord {
  readonly header: RecordHeader;
  readonly body: Uint8Array;
}

export interface IntactRecord extends LogRecord {
  readonly seq: number;
  readonly damaged?: undefined;
}

/** The remains of a record that fails its checksum, for dead letters only. */
export interface DamagedRecord {
  readonly seq: number;
  readonly damaged: string;
  readonly bytes: Uint8Array;
}

export type StoredRecord = IntactRecord | DamagedRecord;

export interface Backlog {
  readonly records: number;
  readonly events: number;
  readonly bytes: number;
}

/** The accepting side. */
export interface EventLogWriter {
  /** Number of slots of the log. */
  readonly slots: number;
  /** Resolves with the seq once the record is durable. Rejects with LogUnavailableError otherwise (disk full, I/O error). */
  append(lane: Lane, record: LogRecord, slot: number): Promise<number>;
  /** Returns the waiting records of a lane in all slots. Cheap: no I/O; the numbers may be a second old. */
  backlog(lane: Lane): Backlog;
  /**
   * Returns the waiting records of one project that this writer appended and, for files, those that existed when it was opened. If
   * several processes write to a log, each knows only its share: with their number, the records of the others are estimated from the
   * project's part of what this one appended to the same slots, up to as much as this one for each.
   */
  backlogOf(lane: Lane, projectId: number, writers?: number): Backlog;
  /** Returns the last seq in a slot's lane, from any writer, to compare cursors with. 0 means none. */
  end(lane: Lane, slot: number): Promise<number>;
  /**
   * Resolves once no file of the log contains a record that was committed before the call, and rejects when the signal is aborted.
   * Missing if a broker decides that.
   */
  forgetStored?(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface ReadLimits {
  /** Stop after the record that reaches this many events. */
  readonly events: number;
  /** Stop after the record that reaches this many body bytes. */
  readonly bytes: number;
  /** Read no record beyond this seq, so that an interrupted range can be repeated exactly. */
  readonly lastSeq?: number;
}

/** The processing side of one slot; may be in another thread than the writer. */
export interface EventLogReader {
  /**
   * Identifies this slot of this log, even against an empty log that replaces it: a lane and a seq identify a record only
   * together with the id. At most 36 characters of `[A-Za-z0-9-]`.
   */
  readonly id: string;
  /** Returns records after `afterSeq`, in order; empty if there are no more. */
  read(lane: Lane, afterSeq: number, limits: ReadLimits): Promise<StoredRecord[]>;
  /** Reports that everything up to and including `seq` is stored. */
  commit(lane: Lane, seq: number): void;
  /** Resolves when something may have been appended, when the log cannot be read (the next read reports that), or after `timeoutMs`. */
  waitForAppend(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * The log could not make the record durable. The sender should retry. The record may have been stored nevertheless (by a broker that
 * could not confirm it), and is then recognised by the ids of its events.
 */
export class LogUnavailableError extends Error {
  override name = 'LogUnavailableError';
}
