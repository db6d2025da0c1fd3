import type { EventDraft, RecordContext } from '../draft.ts';
import type { StepDeps } from '../step.ts';
import { ok, type Outcome } from '../outcome.ts';

/** Counts what the steps have warned of. */
export function keepWarnings({ results }: Pick<StepDeps, 'results'>) {
  return (draft: EventDraft, context: RecordContext): Outcome => {
    for (const warning of draft.warnings) results.warn(context, warning);
    return ok;
  };
}
