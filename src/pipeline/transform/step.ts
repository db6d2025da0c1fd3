import type { Transformation } from '../../plugins/plugin.ts';
import type { EventOutcome } from '../../plugins/sandbox/sandbox.ts';
import type { ChainEvent } from './chain-event.ts';

/** One enabled config, ready to run. */
export type Step = DirectStep | BatchStep;

interface StepBase {
  readonly configId: number;
  /** How the event names it: `Drop events (12)`. */
  readonly label: string;
  /** Gives up what it holds; events that are with it finish first. */
  close(): Promise<void>;
  /** What the service does about it for now, as a sentence for the config's `error`; empty: all as it should be. */
  readonly trouble?: () => string;
}

/** A built-in that only computes: takes one event after the other. */
export interface DirectStep extends StepBase {
  readonly kind: 'direct';
  readonly transform: Transformation;
}

/** Takes events in order, at most `batchEventsMax` at once, and settles each. Never rejects. */
export interface BatchStep extends StepBase {
  readonly kind: 'batch';
  readonly run: (events: readonly ChainEvent[]) => Promise<readonly StepOutcome[]>;
}

export const batchEventsMax = 500;

export type StepOutcome =
  | Exclude<EventOutcome, { readonly kind: 'failed' }>
  /** The event's object is the result. */
  | { readonly kind: 'kept' }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** The step could not run just now; the event goes on untouched. */
  | { readonly kind: 'skipped' };
