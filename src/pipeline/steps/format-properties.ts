import type { EventDraft } from '../draft.ts';
import { ok, type Outcome } from '../outcome.ts';

/** The properties as they are stored: as they were sent, unless somebody has changed them. */
export function formatProperties(draft: EventDraft): Outcome {
  draft.propertiesText ??= JSON.stringify(draft.properties);
  return ok;
}
