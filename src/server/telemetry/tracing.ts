/** Traces batches from their arrival to their rows. Independent of the SDK, which is only loaded if an endpoint is configured. */

export interface CapturedBatch {
  readonly lane: string;
  readonly projectId: number;
  readonly events: number;
  readonly requestId: string;
  /** ms since the epoch: start of the span. */
  readonly receivedAt: number;
  /** As the client sent it (W3C Trace Context). */
  readonly traceparent?: string;
}

export interface CaptureSpan {
  /** Context of the span, which travels with the batch through the log. Undefined if the batch is not sampled. */
  readonly traceparent: string | undefined;
  /** Ends the span now, with the error if the batch was not accepted. */
  end(error?: unknown): void;
}

/** A window that is stored, with the contexts of the sampled batches that it contains. */
export interface TracedWindow {
  readonly lane: string;
  readonly traceparents: readonly string[];
  /** Events and rows of all batches of the window. */
  readonly events: number;
  readonly rows: number;
  /** ms since the epoch. */
  readonly startedAt: number;
  readonly computedAt: number;
  readonly storedAt: number;
}

export interface Tracing {
  startCapture(batch: CapturedBatch): CaptureSpan;
  /** Adds the spans of transforming and storing to the trace of each batch. */
  stored(window: TracedWindow): void;
  /** Exports what is buffered, within seconds. */
  close(): Promise<void>;
}
