import { state } from '../open-record.ts';
import { changesPerson } from '../spliced-person.ts';
import type { Step, StepDeps } from '../step.ts';
import { needsReading } from './check-plan.ts';

/**
 * Splices events whose properties neither transformations nor observers nor a tracking plan read; these apply only to events that get
 * their rows here.
 * Facts of groups are always read, and those of persons may be drafts already.
 */
export function spliceEvents({
  chains,
  observers,
  projects,
  plans,
}: Pick<StepDeps, 'chains' | 'observers' | 'projects' | 'plans'>): Step {
  return (record) => {
    const { context, states, drafts } = record;
    const { projectId, rowsStored } = context;
    if (rowsStored === 'groups' || drafts.length > 0) return;
    if (rowsStored === undefined && (chains.has(projectId) || observers.has(projectId))) return;
    const { scan, splicer } = record;
    // Changes to persons that other slots change as well are noted as objects: see profile-notes.ts.
    const isShared = projects.isShared(projectId);
    const plan = rowsStored === undefined ? plans.of(projectId) : undefined;
    for (let index = 0; index < states.length; index++) {
      if (states[index] !== state.raw || (isShared && changesPerson(scan, index))) continue;
      if (!splicer.accepts(index) || (plan !== undefined && needsReading(plan, record, index))) continue;
      states[index] = state.spliced;
    }
  };
}
