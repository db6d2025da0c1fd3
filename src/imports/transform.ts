import type { WireEvent } from '../contract/wire-event.ts';

/**
 * Port to code of a user's own that changes events between their format and the check. What becomes of an event may depend on the
 * event alone: the same records are transformed again after a crash and at every retry.
 */
export interface Transform {
  /** As people call it. */
  readonly name: string;
  /** Sets the code up, with nothing left of an earlier piece: a piece that is done again gives the same. Throws TransformError. */
  open(): Promise<OpenTransform>;
}

/** Set up for one piece of staged records. */
export interface OpenTransform {
  /** An outcome for each of the events, in their order. Throws TransformError where the code cannot run at all. */
  run(events: readonly WireEvent[]): Promise<readonly TransformOutcome[]>;
  /** What the code asked for so far and an import does not have: `storage.set`. */
  readonly refused: ReadonlySet<string>;
  close(): Promise<void>;
}

export type TransformOutcome =
  | { readonly kind: 'kept'; readonly event: WireEvent }
  | { readonly kind: 'dropped' }
  /** `reason`: one sentence, without secrets. */
  | { readonly kind: 'failed'; readonly code: TransformFault; readonly reason: string };

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
