import type { EventDraft, RecordContext } from '../draft.ts';
import { state } from '../open-record.ts';
import type { Step, StepDeps } from '../step.ts';
import { failure, type Outcome } from '../outcome.ts';

/** Makes a step of what is done with one draft. An event that fails costs no other. */
export function createEachDraft({ results }: Pick<StepDeps, 'results'>) {
  return (work: (draft: EventDraft, context: RecordContext) => Outcome): Step =>
    (record) => {
      for (const draft of record.drafts) {
        if (record.states[draft.index] !== state.draft) continue;
        try {
          const outcome = work(draft, record.context);
          if (outcome.kind !== 'ok') results.end(record, draft.index, outcome);
        } catch (error) {
          results.end(record, draft.index, failure(error));
        }
      }
    };
}
