import type { WarningOccurrence, WarningType } from '../wire/contract/warnings.ts';

/**
 * Result of a step for an event. A step never throws because of invalid data.
 * - undefined: continue with this event
 * - drop: end it on purpose; counted, nothing kept
 * - dead letter: end it; the original bytes are kept with the reason and can be replayed
 */
export type Outcome = Drop | DeadLetter | undefined;

export interface Drop {
  readonly kind: 'drop';
  readonly reason: WarningType;
  readonly detail: string;
  /** Further details of its warning. */
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
/** Creates a dead letter for an unexpected error of the program. */
export function failure(error: unknown): DeadLetter {
  return deadLetter('processing_failed', error instanceof Error ? `${error.name}: ${error.message}` : String(error));
}
