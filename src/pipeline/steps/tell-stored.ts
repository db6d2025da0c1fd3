import { draftsInOrder, state } from '../open-record.ts';
import type { Step, StepDeps } from '../step.ts';

/** Tells the readers of the live stream of the events that have their rows, where somebody reads. */
export function tellStored({ live }: Pick<StepDeps, 'live'>): Step {
  return (record) => {
    const { states, context } = record;
    if (!live.isWatched(context.projectId)) return;
    const draftOf = draftsInOrder(record);
    for (let index = 0; index < states.length; index++) {
      if (states[index] === state.draft) live.stored(draftOf(index), context);
      else if (states[index] !== state.ended) live.spliced(record, index);
    }
  };
}
