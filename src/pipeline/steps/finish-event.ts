import type { EventDraft } from '../draft.ts';
import { ok, type Outcome } from '../outcome.ts';
import { readGroups } from './read-groups.ts';
import { settleProfile } from './settle-profile.ts';

/** What an event means for persons and groups, once the transformations are done with it. */
export function finishEvent(draft: EventDraft): Outcome<EventDraft> {
  const settled = settleProfile(draft);
  if (settled.kind !== 'ok') return settled;
  const grouped = readGroups(settled.value);
  if (grouped.kind !== 'ok') return grouped;
  noteClientWarning(grouped.value);
  return ok(grouped.value);
}

/** Client libraries report with an event of their own that they had to limit themselves. */
function noteClientWarning(draft: EventDraft): void {
  if (draft.event !== '$$client_ingestion_warning') return;
  const message = draft.properties['$$client_ingestion_warning_message'];
  const details = {
    eventUuid: draft.uuid,
    distinctId: draft.distinctId,
    message: typeof message === 'string' ? message.slice(0, 200) : null,
  };
  draft.warnings.push({ type: 'client_ingestion_warning', details });
}
