import type { WireEvent } from '../wire/contract/wire-event.ts';

/**
 * Port to code of a user's own that changes events between their format and the check. What becomes of an event may depend on the
 * event alone: the same records are transformed again after a crash and at every retry.
 */
export interface Transform extends TransformAbout {
  /** Sets the code up, with nothing left of an earlier piece: a piece that is done again gives the same. Throws TransformError. */
  open(): Promise<OpenTransform>;
}

/** Structured clone. */
export interface TransformAbout {
  /** As people call it. */
  readonly name: string;
  readonly projectId: number;
  /** ms since the epoch: what events say of their arrival, the same at every retry. */
  readonly receivedAt: number;
}

/** Set up for one piece of staged records. */
export interface OpenTransform {
  /** An outcome for each of the events, in their order. Throws TransformError where the code cannot run at all. */
  run(events: readonly HandedEvent[]): Promise<readonly CodeOutcome[]>;
  /** What the code asked for so far and an import does not have: `storage.set`. */
  readonly refused: ReadonlySet<string>;
  close(): Promise<void>;
}

/** An event as code gets it; structured clone. */
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
      /** It tried to move the event to another project. */
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

/** What became of an event of a reader. */
export type TransformOutcome =
  | { readonly kind: 'kept'; readonly event: WireEvent }
  | { readonly kind: 'dropped' }
  | TransformFailure;

/**
 * - transform_failed: it threw, or gave back what is no event
 * - transform_stopped: it took more time or memory than it may
 * - transform_digits: it wrote a number of more digits than JavaScript holds to another place
 */
export type TransformFault = 'transform_failed' | 'transform_stopped' | 'transform_digits';

/** The code cannot be loaded, set up or gone on with: one sentence, without secrets. */
export class TransformError extends Error {
  override name = 'TransformError';
  /** Trying again later may help. */
  readonly retry: boolean;

  constructor(message: string, options: { readonly retry?: boolean; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.retry = options.retry ?? false;
  }
}
