import type { Transformation } from '../../plugins/plugin.ts';
import type { EventOutcome } from '../../plugins/sandbox/sandbox.ts';
import type { ChainEvent } from './chain-event.ts';

/** One enabled config, ready to run. */
export type Step = DirectStep | BatchStep;

interface StepBase {
  readonly configId: number;
  /** Its name in events: `Drop events (12)`. */
  readonly label: string;
  /** Whether an event passes the config's filter; others skip the step. Default: all do. */
  readonly accepts?: ((event: ChainEvent) => boolean) | undefined;
  /** Releases its resources, after the events in it have finished. */
  close(): Promise<void>;
  /** Why the service has suspended it, as a sentence for the config's `error`; empty: it has not. */
  readonly trouble?: () => string;
}

/** A built-in that only computes, one event at a time. */
export interface DirectStep extends StepBase {
  readonly kind: 'direct';
  readonly transform: Transformation;
}

/** Takes events in order, at most `batchEventsMax` per call, and returns an outcome for each. Never rejects. */
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
  /** The step is suspended, or its filter excludes the event, which passes unchanged. */
  | { readonly kind: 'skipped' };
