import { state } from '../open-record.ts';
import type { Step, StepDeps } from '../step.ts';
import { deadLetter } from '../outcome.ts';

/** Counts the events and skips those that are known or suspected poison: see poison-search.ts. */
export function selectEvents({ results }: Pick<StepDeps, 'results'>): Step {
  return (record) => {
    const { selection, states, context } = record;
    if (selection === undefined) return results.events(states.length);
    for (let index = 0; index < states.length; index++) {
      const choice = selection(context.seq, index);
      if (choice === 'skip') states[index] = state.ended;
      else results.events(1);
      if (choice === 'poison') {
        results.end(record, index, deadLetter('processing_failed', 'the event cannot be stored'));
      }
    }
  };
}
