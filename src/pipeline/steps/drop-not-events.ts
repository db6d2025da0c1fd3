import { notEventWarning } from '../../wire/batch/not-events.ts';
import { fieldFrom, fieldTo, textAt } from '../../wire/batch/spans.ts';
import { isObject } from '../../base/json.ts';
import type { EventDraft } from '../event-draft.ts';
import type { OpenRecord } from '../open-record.ts';
import { drop, type Outcome } from '../outcome.ts';

const messageCharsMax = 200;

/** Drops messages and measurements that client libraries send in the form of events. */
export function dropNotEvents(draft: EventDraft, record: OpenRecord): Outcome {
  const reason = notEventWarning(draft.event);
  if (reason === undefined) return undefined;
  const ids = { eventUuid: draft.uuid, distinctId: draft.distinctId };
  if (reason !== 'client_ingestion_warning') return drop(reason, `${draft.event} is not stored as an event`, ids);
  // The properties may not be parsed yet. Facts are scanned only when necessary.
  const { scan } = record;
  const from = fieldFrom(scan, draft.index, 'properties');
  const properties: unknown =
    from < 0 ? null : JSON.parse(textAt(scan.json, from, fieldTo(scan, draft.index, 'properties')));
  const message = isObject(properties) ? properties['$$client_ingestion_warning_message'] : undefined;
  const text = typeof message === 'string' ? message.slice(0, messageCharsMax) : null;
  return drop(reason, text ?? 'a client library limited its own events', { ...ids, message: text });
}
