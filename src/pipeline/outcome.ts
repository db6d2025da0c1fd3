import type { WarningOccurrence, WarningType } from '../wire/contract/warnings.ts';

/**
 * What a step says of an event. A step never throws for what is wrong with data.
 * - undefined: go on with this event
 * - drop: stop, on purpose; counted, nothing kept
 * - dead letter: stop; the original bytes are kept with the reason and can be replayed
 */
export type Outcome = Drop | DeadLetter | undefined;

export interface Drop {
  readonly kind: 'drop';
  readonly reason: WarningType;
  readonly detail: string;
  /** Of its warning, besides the detail. */
  readonly details?: WarningOccurrence['details'];
}
export interface DeadLetter {
  readonly kind: 'dead-letter';
  readonly reason: WarningType;
  readonly detail: string;
  readonly attr: string | null;
}

export function drop(reason: WarningType, detail: string, details: WarningOccurrence['details'] = {}): Drop {
  return { kind: 'drop', reason, detail, details };
}
export function deadLetter(reason: WarningType, detail: string, attr: string | null = null): DeadLetter {
  return { kind: 'dead-letter', reason, detail, attr };
}
/** A fault of ours. */
export function failure(error: unknown): DeadLetter {
  return deadLetter('processing_failed', error instanceof Error ? `${error.name}: ${error.message}` : String(error));
}
