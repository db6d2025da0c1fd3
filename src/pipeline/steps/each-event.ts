import type { EventDraft } from '../event-draft.ts';
import { state, type OpenRecord } from '../open-record.ts';
import { failure, type Outcome } from '../outcome.ts';
import type { Step, StepDeps } from '../step.ts';

/** Creates a step from a function of one event in state raw. An event that fails affects no other. */
export function createEachRaw({ results }: Pick<StepDeps, 'results'>) {
  return (work: (record: OpenRecord, index: number) => Outcome | void): Step =>
    (record) => {
      const { states } = record;
      for (let index = 0; index < states.length; index++) {
        if (states[index] !== state.raw) continue;
        try {
          const outcome = work(record, index);
          if (outcome) results.end(record, index, outcome);
        } catch (error) {
          results.end(record, index, failure(error));
        }
      }
    };
}

/** Creates a step from a function of one draft. */
export function createEachDraft({ results }: Pick<StepDeps, 'results'>) {
  return (work: (draft: EventDraft, record: OpenRecord) => Outcome | void): Step =>
    (record) => {
      for (const draft of record.drafts) {
        if (record.states[draft.index] !== state.draft) continue;
        try {
          const outcome = work(draft, record);
          if (outcome) results.end(record, draft.index, outcome);
        } catch (error) {
          results.end(record, draft.index, failure(error));
        }
      }
    };
}
