import { derivedId } from '../base/ids.ts';
import type { AcceptedBatch } from '../wire/batch/ingest.ts';
import { BodySyntaxError } from '../wire/batch/json-syntax.ts';
import { scanLimits } from '../wire/batch/limits.ts';
import { scanBatch } from '../wire/batch/scan.ts';
import { fieldFrom, isNullAt } from '../wire/batch/spans.ts';
import { validateEvent } from '../wire/batch/validate.ts';
import type { WarningType } from '../wire/contract/warnings.ts';
import type { JsonObject } from '../base/json.ts';
import type { DeadLetter } from './dead-letter-queries.ts';

export type Replay =
  | { readonly ok: true; readonly batch: AcceptedBatch }
  | { readonly ok: false; readonly code: WarningType; readonly detail: string };

/**
 * Turns a dead letter into a batch for ingestion, on its lane and with its original time of arrival. An event that would only become
 * a dead letter again is not sent. An event without a uuid gets one derived from the dead letter, so that replaying it twice
 * stores it once.
 */
export function prepareReplay(
  letter: DeadLetter,
  edited: JsonObject | undefined,
  { requestId, eventBytesMax }: { readonly requestId: string; readonly eventBytesMax: number },
): Replay {
  const lane = letter.lane === 'historical' ? 'historical' : 'live';
  const receivedAt = Date.parse(letter.received_at);
  const event = edited === undefined ? Buffer.from(letter.original) : Buffer.from(JSON.stringify(edited));
  const scan = scanOne(event, eventBytesMax);
  if (typeof scan === 'string') return { ok: false, code: 'invalid_event', detail: scan };
  const verdict = validateEvent(scan, 0, lane, receivedAt);
  if (!verdict.ok) return { ok: false, code: verdict.code, detail: verdict.detail };
  const uuidAt = fieldFrom(scan, 0, 'uuid');
  const hasUuid = uuidAt >= 0 && !isNullAt(scan.json, uuidAt) && scan.json[uuidAt + 1] !== 0x22;
  // The last of repeated keys counts, so this one does.
  const tail = hasUuid ? '' : `,"uuid":"${derivedId('replay', letter.id)}"`;
  const body = Buffer.concat([
    Buffer.from(`{"historical_migration":${lane === 'historical'},"batch":[`),
    event.subarray(0, event.lastIndexOf('}')),
    Buffer.from(`${tail}}]}`),
  ]);
  const { project_id: projectId, rows_stored: rowsStored } = letter;
  const batch = { lane, projectId, body, encoding: 'identity', events: 1, receivedAt, requestId } as const;
  return { ok: true, batch: { ...batch, ...(rowsStored === 1 && { rowsStored: true }) } };
}

/** Scans the event as the only element of a batch; returns the reason as text if it is not one. */
function scanOne(event: Buffer, eventBytesMax: number) {
  try {
    const scan = scanBatch(Buffer.concat([Buffer.from('['), event, Buffer.from(']')]), scanLimits(eventBytesMax));
    return scan.count === 1 ? scan : `expected the original to be one event, got: ${scan.count}`;
  } catch (error) {
    if (!(error instanceof BodySyntaxError)) throw error;
    return `expected the original to be one JSON event; ${error.message}`;
  }
}
