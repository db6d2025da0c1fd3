import { state } from '../open-record.ts';
import type { Step, StepDeps } from '../step.ts';
import { deadLetter } from '../outcome.ts';

/** Stores nothing for a project that was deleted after its events were accepted. */
export function refuseUnknownProject({ projects, results }: Pick<StepDeps, 'projects' | 'results'>): Step {
  return (record) => {
    const { states, context } = record;
    if (projects.has(context.projectId)) return;
    const outcome = deadLetter('project_not_found', `there is no project ${context.projectId}`);
    for (let index = 0; index < states.length; index++) {
      if (states[index] !== state.ended) results.end(record, index, outcome);
    }
  };
}
