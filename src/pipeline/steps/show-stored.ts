import { draftsInOrder, state } from '../open-record.ts';
import type { Step, StepDeps } from '../step.ts';

/** Shows events that have their rows to readers of the live stream, if there are any. */
export function showStored({ live }: Pick<StepDeps, 'live'>): Step {
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
