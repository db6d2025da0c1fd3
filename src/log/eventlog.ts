/**
 * Port: the event log, where an accepted request waits until its events are stored.
 *
 * Terms
 * - lane: live and historical requests queue apart, so that years of history never delay what happens now.
 * - record: one accepted request, its body as it was received, with what is needed to process it the same way twice.
 * - slot: a log is cut into slots, 0 … slots - 1; all records of a project are in one, or those of a distinct id where the project
 *   is spread (slot-of.ts). The files of one machine are one slot.
 * - seq: position of a record in its slot and lane; strictly increasing, never reused.
 *
 * Promises (checked by conformance.ts for every adapter)
 * - `append` resolves only after the record survives a kill or a power cut.
 * - `read` gives records in order of seq, whole, each as it was appended, or marked damaged.
 * - A record is readable until it is committed; after that it may vanish at any time.
 */
export const lanes = ['live', 'historical'] as const;
export type Lane = (typeof lanes)[number];

/** `zstd-ndjson`: events as JSON, one a line without a \n at the end, as one frame of zstd; what imports stage. */
export type BodyEncoding = (typeof bodyEncodings)[number];
export const bodyEncodings = ['identity', 'gzip', 'zstd-ndjson'] as const;

export interface RecordHeader {
  readonly projectId: number;
  /** Arrival, ms since the epoch. */
  readonly receivedAt: number;
  /** When the sender says that it sent the body (ms since the epoch); absent: no clock correction. */
  readonly sentAt?: number;
  /** Address of the sender; becomes `$ip` of live events that bring none. */
  readonly ip?: string;
  readonly encoding: BodyEncoding;
  /** Events taken from this body; for backpressure and gauges. */
  readonly events: number;
  /** Id of the HTTP request, to find it in the log. */
  readonly requestId: string;
  /** Of a project that is spread: which part of it these events are, and so which slot; absent: the first. */
  readonly part?: number;
  /** The events have their rows in the event store already. Absent: they are stored. */
  readonly rowsStored?: RowsStored;
}

/**
 * Of events that have their rows: who learns from them, persons, groups or (true) both; nothing else is done with them. They may be
 * fewer and say less than those rows (imports/stages/check/facts.ts).
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

/** What is left of a record that fails its checksum: for the dead letters, never for processing. */
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
  /** How many slots the log has. */
  readonly slots: number;
  /** Resolves with the seq once durable. Rejects with LogUnavailableError when it cannot promise that (disk full, I/O error). */
  append(lane: Lane, record: LogRecord, slot: number): Promise<number>;
  /** What waits, per lane, in all slots. Cheap: no I/O; it may be a second old. */
  backlog(lane: Lane): Backlog;
  /**
   * As `backlog`, of one project: what this writer appended, and in files also what was there when it was opened. Of a log that
   * several processes write to, each knows its own share.
   */
  backlogOf(lane: Lane, projectId: number): Backlog;
  /** The last seq that was given out in a slot's lane, by whichever writer; 0: none was. What a cursor is compared with. */
  end(lane: Lane, slot: number): Promise<number>;
  close(): Promise<void>;
}

export interface ReadLimits {
  /** Stop after the record that reaches this many events. */
  readonly events: number;
  /** Stop after the record that reaches this many body bytes. */
  readonly bytes: number;
  /** Read no record beyond this seq: an interrupted range is read again exactly. */
  readonly lastSeq?: number;
}

/** The processing side of one slot; may live in another thread than the writer. */
export interface EventLogReader {
  /**
   * Tells this slot of this log from every other, also from an empty one in its place: a lane and a seq name a record only
   * together with it. At most 36 characters of `[A-Za-z0-9-]`.
   */
  readonly id: string;
  /** Records after `afterSeq`, in order; empty when there is none. */
  read(lane: Lane, afterSeq: number, limits: ReadLimits): Promise<StoredRecord[]>;
  /** Everything up to and including `seq` is stored for good. */
  commit(lane: Lane, seq: number): void;
  /** Resolves when something may have been appended, when the log cannot be read, which the next read deals with, or after `timeoutMs`. */
  waitForAppend(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * The log could not make the record durable. The sender should try again: what it was not told of may be there all the same (a
 * broker that stored it and did not get to say so), and is recognised by the ids of its events.
 */
export class LogUnavailableError extends Error {
  override name = 'LogUnavailableError';
}
