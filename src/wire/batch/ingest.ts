import type { BodyEncoding, Lane, RowsStored } from '../../log/eventlog.ts';
import type { ScannedBatch } from './scanned-batch.ts';

/** A body that has been scanned and validated; at least one of its events is good. */
export interface AcceptedBatch {
  readonly lane: Lane;
  readonly projectId: number;
  /** JSON as the batch scanner takes it (batch object, array or single event), perhaps gzipped; or lines (see BodyEncoding). */
  readonly body: Uint8Array;
  readonly encoding: BodyEncoding;
  /** Good events in it. */
  readonly events: number;
  /** ms since the epoch. */
  readonly receivedAt: number;
  /** ms since the epoch, as the sender states it. */
  readonly sentAt?: number;
  readonly ip?: string;
  readonly requestId: string;
  /** See RecordHeader. */
  readonly rowsStored?: RowsStored;
  /** Scan of the uncompressed body; ingest may take its memory. Absent if it was not scanned, or the caller still needs it. */
  readonly scan?: ScannedBatch;
}

/** The only entry into the event log: HTTP, imports, jobs and replays all use it. */
export interface Ingest {
  /** Resolves once the batch is durable. Throws ApiError `unavailable` (503, Retry-After) under backpressure or storage trouble. */
  accept(batch: AcceptedBatch): Promise<void>;
}
