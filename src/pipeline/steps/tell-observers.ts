import type { EventDraft, RecordContext } from '../draft.ts';
import type { StepDeps } from '../step.ts';
import { ok, type Outcome } from '../outcome.ts';

/** Notes the events for plugins that want to be told of them. */
export function tellObservers({ observers }: Pick<StepDeps, 'observers'>) {
  return (draft: EventDraft, { receivedAt }: RecordContext): Outcome => {
    observers.saw(draft, receivedAt);
    return ok;
  };
}
