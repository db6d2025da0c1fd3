import type { WireEvent } from '../wire/contract/wire-event.ts';

/**
 * Port to user code that changes events between their format and the check. Its outcome for an event must depend on that event alone:
 * the same records are transformed again after a crash and at every retry.
 */
export interface Transform extends TransformAbout {
  /** Sets the code up without any state of an earlier segment, so that repeating a segment gives the same events. Throws TransformError. */
  open(): Promise<OpenTransform>;
}

/** Structured clone. */
export interface TransformAbout {
  /** Name for users. */
  readonly name: string;
  readonly projectId: number;
  /** The time of arrival that events contain, the same at every retry; ms since the epoch. */
  readonly receivedAt: number;
}

/** Code set up for one segment of staged records. */
export interface OpenTransform {
  /** Returns an outcome for each event, in their order. Throws TransformError if the code cannot run at all. */
  run(events: readonly HandedEvent[]): Promise<readonly CodeOutcome[]>;
  /** Services that the code requested and an import does not have: `storage.set`. */
  readonly refused: ReadonlySet<string>;
  close(): Promise<void>;
}

/** An event as code receives it; structured clone. */
export interface HandedEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  readonly teamId: number;
  /** ISO 8601. */
  readonly timestamp: string;
  /** ms since the epoch. */
  readonly receivedAt: number;
  /** JSON. */
  readonly propertiesText: string;
}

/** Structured clone. */
export type CodeOutcome =
  | { readonly kind: 'unchanged' }
  | (Pick<HandedEvent, 'uuid' | 'event' | 'distinctId' | 'timestamp' | 'propertiesText'> & {
      readonly kind: 'changed';
      /** The code tried to move the event to another project. */
      readonly movedTeam: boolean;
    })
  | { readonly kind: 'dropped' }
  | TransformFailure;

/** `reason`: one sentence, without secrets. */
export interface TransformFailure {
  readonly kind: 'failed';
  readonly code: TransformFault;
  readonly reason: string;
}

/** The outcome for an event of a reader. */
export type TransformOutcome =
  | { readonly kind: 'kept'; readonly event: WireEvent }
  | { readonly kind: 'dropped' }
  | TransformFailure;

/**
 * - transform_failed: it threw, or returned something that is not an event
 * - transform_stopped: it exceeded its time or memory limit
 * - transform_digits: it moved a number with more digits than JavaScript holds to another place
 */
export type TransformFault = 'transform_failed' | 'transform_stopped' | 'transform_digits';

/** The code cannot be loaded, set up or continued: one sentence, without secrets. */
export class TransformError extends Error {
  override name = 'TransformError';
  /** A later retry may help. */
  readonly retry: boolean;

  constructor(message: string, options: { readonly retry?: boolean; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.retry = options.retry ?? false;
  }
}
