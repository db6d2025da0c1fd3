import { validateEvent as validate } from '../../wire/batch/validate.ts';
import type { OpenRecord } from '../open-record.ts';
import { deadLetter, type Outcome } from '../outcome.ts';

/** Validates an event by the rules of capture, see batch/validate.ts. */
export function validateEvent({ scan, context }: OpenRecord, index: number): Outcome {
  const verdict = validate(scan, index, context.lane, context.receivedAt);
  return verdict.ok ? undefined : deadLetter(verdict.code, verdict.detail, verdict.attr);
}
