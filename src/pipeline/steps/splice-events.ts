import { state } from '../open-record.ts';
import { saysOfPerson } from '../spliced-person.ts';
import type { Step, StepDeps } from '../step.ts';

/**
 * Takes the events into which nobody looks: neither transformations nor observers, which are for events that get their rows here. Facts
 * of groups are all looked into, and those of persons may be drafts already.
 */
export function spliceEvents({
  chains,
  observers,
  projects,
}: Pick<StepDeps, 'chains' | 'observers' | 'projects'>): Step {
  return (record) => {
    const { context, states, drafts } = record;
    const { projectId, rowsStored } = context;
    if (rowsStored === 'groups' || drafts.length > 0) return;
    if (rowsStored === undefined && (chains.has(projectId) || observers.has(projectId))) return;
    const { scan, splicer } = record;
    // What is said of persons whom other slots change, too, is noted as an object: see profile-notes.ts.
    const isShared = projects.isShared(projectId);
    for (let index = 0; index < states.length; index++) {
      if (states[index] !== state.raw || (isShared && saysOfPerson(scan, index))) continue;
      if (splicer.accepts(index)) states[index] = state.spliced;
    }
  };
}
