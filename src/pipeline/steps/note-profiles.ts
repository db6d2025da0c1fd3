import { draftsInOrder, state } from '../open-record.ts';
import type { Step, StepDeps } from '../step.ts';

/** Notes changes to persons and groups that other slots change as well; see profile-notes.ts. */
export function noteProfiles({ projects, notes }: Pick<StepDeps, 'projects' | 'notes'>): Step {
  return (record) => {
    const { states, context } = record;
    const { projectId, receivedAt } = context;
    if (!projects.isShared(projectId)) return;
    const draftOf = draftsInOrder(record);
    for (let index = 0; index < states.length; index++) {
      if (states[index] === state.spliced) {
        const { splicer } = record;
        notes.touch(projectId, splicer.distinctId(index), splicer.micros[index] as number);
      } else if (states[index] === state.draft) notes.change(draftOf(index), receivedAt);
    }
  };
}
