import type { EventDraft } from '../event-draft.ts';

/** Client libraries report with an event of their own that they had to limit themselves. */
export function noteClientWarning(draft: EventDraft): void {
  if (draft.event !== '$$client_ingestion_warning') return;
  const message = draft.properties['$$client_ingestion_warning_message'];
  const details = {
    eventUuid: draft.uuid,
    distinctId: draft.distinctId,
    message: typeof message === 'string' ? message.slice(0, 200) : null,
  };
  draft.warnings.push({ type: 'client_ingestion_warning', details });
}
