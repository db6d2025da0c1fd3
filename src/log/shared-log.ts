/** Parts of the port that only a log shared by several processes has: in Kafka or PostgreSQL. */
import type { EventLogReader, EventLogWriter, Lane } from './eventlog.ts';
import type { PendingPlace, StoredPlace } from './stored-places.ts';

export type PerLane<T> = Readonly<Record<Lane, T>>;

/** Progress of the consumers: last stored seq by slot; missing slots are at 0. */
export type SlotCursors = PerLane<ReadonlyMap<number, number>>;

export interface SharedWriterOptions {
  /** Time after which an unconfirmed append fails, ms. Default 15,000. */
  readonly appendTimeoutMs?: number;
  /** Poll interval of the backlog, ms. Default 1,000. */
  readonly pollMs?: number;
  /** Body bytes that may be in flight; beyond them `append` rejects. Default 256 MiB. */
  readonly inFlightBytesMax?: number;
}

export interface SharedWriterDeps {
  /** Reads the cursors from the metadata store. */
  readonly cursors: () => Promise<SlotCursors>;
  /** Called for each answered append request, with its time in s. */
  readonly onAnswer?: (lane: Lane, seconds: number) => void;
  /** Called for each failed attempt. */
  readonly onFailure?: (operation: 'append' | 'backlog', error: unknown) => void;
  /** Receives each message for the operator once. */
  readonly onProblem?: (sentence: string) => void;
}

export interface SharedLogWriter extends EventLogWriter {
  /** Returns how long the oldest record of a lane has waited, s; records from before the start count from then. */
  oldestSeconds(lane: Lane): number;
  /** Returns the waiting records of each slot as of about a second ago. */
  backlogBySlot(lane: Lane): ReadonlyMap<number, number>;
  /** Returns how long the server has not answered, s; 0 if it answered the last poll. It is polled every second. */
  silentSeconds(): number;
}

export interface SharedReaderOptions {
  /** Interval of deleting records, ms. Default 5,000, or 60,000 if they are kept for a time after they are stored. */
  readonly deleteEveryMs?: number;
}

export interface SharedReaderDeps {
  /** Called for records that were read. */
  readonly onRead?: (lane: Lane, records: number, bytes: number) => void;
  /** Called for each failed attempt. */
  readonly onFailure?: (operation: 'read' | 'wait' | 'delete' | 'offsets', error: unknown) => void;
  /** Receives messages for the operator. */
  readonly onProblem?: (sentence: string) => void;
  /** Returns how far stored records may be deleted, where that is further than before. Default: all of them. */
  readonly expired?: (places: readonly PendingPlace[]) => Promise<readonly StoredPlace[]>;
}

/** The processing side of all slots of a process, which share connections. */
export interface SharedLogReaders {
  readonly slots: number;
  /** Opens the reader of a slot, at most one at a time. Closing it does not affect the others. */
  reader(slot: number): EventLogReader;
  close(): Promise<void>;
}

/** The log is misconfigured and waiting does not help; the message states why and what to do next. */
export class LogMisconfiguredError extends Error {
  override name = 'LogMisconfiguredError';
}
