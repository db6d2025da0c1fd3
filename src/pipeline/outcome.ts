import type { WarningOccurrence, WarningType } from '../contract/warnings.ts';

/**
 * What a step says of an event. A step never throws for what is wrong with data.
 * - ok: go on with this event (perhaps changed)
 * - drop: stop, on purpose; counted, nothing kept
 * - dead letter: stop; the original bytes are kept with the reason and can be replayed
 */
export type Outcome<T> = Ok<T> | Drop | DeadLetter;

export interface Ok<T> {
  readonly kind: 'ok';
  readonly value: T;
  readonly warnings: readonly WarningOccurrence[];
}
export interface Drop {
  readonly kind: 'drop';
  readonly reason: WarningType;
  readonly detail: string;
}
export interface DeadLetter {
  readonly kind: 'dead-letter';
  readonly reason: WarningType;
  readonly detail: string;
  readonly attr: string | null;
}

const none: readonly WarningOccurrence[] = [];

export function ok<T>(value: T, warnings: readonly WarningOccurrence[] = none): Ok<T> {
  return { kind: 'ok', value, warnings };
}
export function drop(reason: WarningType, detail: string): Drop {
  return { kind: 'drop', reason, detail };
}
export function deadLetter(reason: WarningType, detail: string, attr: string | null = null): DeadLetter {
  return { kind: 'dead-letter', reason, detail, attr };
}
