import { validateEvent as judge } from '../../wire/batch/validate.ts';
import type { OpenRecord } from '../open-record.ts';
import { deadLetter, type Outcome } from '../outcome.ts';

/** As capture does, see batch/validate.ts. */
export function validateEvent({ scan, context }: OpenRecord, index: number): Outcome {
  const verdict = judge(scan, index, context.lane, context.receivedAt);
  return verdict.ok ? undefined : deadLetter(verdict.code, verdict.detail, verdict.attr);
}
