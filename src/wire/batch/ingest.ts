import type { BodyEncoding, Lane, RowsStored } from '../../log/eventlog.ts';
import type { ScannedBatch } from './scanned-batch.ts';

/** A scanned and validated body with at least one valid event. */
export interface AcceptedBatch {
  readonly lane: Lane;
  readonly projectId: number;
  /** JSON that the batch scanner accepts (batch object, array or single event), possibly gzipped, or lines (see BodyEncoding). */
  readonly body: Uint8Array;
  readonly encoding: BodyEncoding;
  /** Number of valid events. */
  readonly events: number;
  /** ms since the epoch. */
  readonly receivedAt: number;
  /** ms since the epoch, by the sender's clock. */
  readonly sentAt?: number;
  readonly ip?: string;
  readonly requestId: string;
  /** Trace that the batch belongs to, as in `RecordHeader`. */
  readonly traceparent?: string;
  /** As in `RecordHeader`. */
  readonly rowsStored?: RowsStored;
  /** Scan of the uncompressed body, whose memory ingest may take. Omit it if the caller still needs it. */
  readonly scan?: ScannedBatch;
}

/** The only way into the event log, for HTTP, imports, jobs and replays. */
export interface Ingest {
  /** Resolves once the batch is durable. Throws ApiError `unavailable` (503, Retry-After) under backpressure or if storage fails. */
  accept(batch: AcceptedBatch): Promise<void>;
}
