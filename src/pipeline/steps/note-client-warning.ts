import type { EventDraft } from '../draft.ts';
import { ok, type Outcome } from '../outcome.ts';

/** Client libraries report with an event of their own that they had to limit themselves. */
export function noteClientWarning(draft: EventDraft): Outcome {
  if (draft.event !== '$$client_ingestion_warning') return ok;
  const message = draft.properties['$$client_ingestion_warning_message'];
  const details = {
    eventUuid: draft.uuid,
    distinctId: draft.distinctId,
    message: typeof message === 'string' ? message.slice(0, 200) : null,
  };
  draft.warnings.push({ type: 'client_ingestion_warning', details });
  return ok;
}
