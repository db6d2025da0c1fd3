import { validateEvent } from '../../batch/validate.ts';
import { state } from '../open-record.ts';
import type { Step, StepDeps } from '../step.ts';
import { deadLetter, failure } from '../outcome.ts';

/** As capture does, see batch/validate.ts. */
export function validateEvents({ results }: Pick<StepDeps, 'results'>): Step {
  return (record) => {
    const { states, scan, context } = record;
    for (let index = 0; index < states.length; index++) {
      if (states[index] !== state.raw) continue;
      try {
        const verdict = validateEvent(scan, index, context.lane, context.receivedAt);
        if (!verdict.ok) results.end(record, index, deadLetter(verdict.code, verdict.detail, verdict.attr));
      } catch (error) {
        results.end(record, index, failure(error));
      }
    }
  };
}
