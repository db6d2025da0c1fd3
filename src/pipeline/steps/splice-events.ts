import { state } from '../open-record.ts';
import type { Step, StepDeps } from '../step.ts';

/** Takes the events of projects in which nobody looks into events: neither transformations nor observers. */
export function spliceEvents({ chains, observers }: Pick<StepDeps, 'chains' | 'observers'>): Step {
  return ({ context, states, splicer }) => {
    if (chains.has(context.projectId) || observers.has(context.projectId)) return;
    for (let index = 0; index < states.length; index++) {
      if (states[index] === state.raw && splicer.accepts(index)) states[index] = state.spliced;
    }
  };
}
