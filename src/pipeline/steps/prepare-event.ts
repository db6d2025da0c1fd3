import type { ScannedBatch } from '../../capture/scanned-batch.ts';
import { parseExact } from '../../persons/exact-json.ts';
import type { TransformChains } from '../../transform/chains.ts';
import type { EventDraft, RecordContext } from '../draft.ts';
import { ok, type Outcome } from '../outcome.ts';
import { readEvent, type Parse } from './read-event.ts';
import { readGroups } from './read-groups.ts';
import { settleProfile } from './settle-profile.ts';
import { transformEvent } from './transform-event.ts';

/**
 * Everything that can be done to a valid event without knowing persons and groups, in this order:
 * the time and uuid of the identity are settled before the transformations, which cannot change them; its name and
 * distinct_id are those that the transformations leave. What the event means for persons and groups comes after, too.
 */
export function prepareEvent(
  chains: TransformChains,
  context: RecordContext,
  scan: ScannedBatch,
  index: number,
): Outcome<EventDraft> {
  // Transformations get ordinary numbers; without any, numbers of every size stay as they were sent.
  const parse: Parse = chains.has(context.projectId) ? JSON.parse : parseExact;
  const transformed = transformEvent(chains, readEvent(context, scan, index, parse));
  if (transformed.kind !== 'ok') return transformed;
  const settled = settleProfile(transformed.value);
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
