import { isoMicros } from '../base/clock.ts';
import { derivedId } from '../base/ids.ts';
import { canonicalUuid } from '../base/uuids.ts';
import { span, spanStride, type ScannedBatch } from '../wire/batch/scanned-batch.ts';
import { distinctIdText, isNullAt, isStringAt, stringAt } from '../wire/batch/spans.ts';
import type { WarningType } from '../wire/contract/warnings.ts';
import type { Lane } from '../log/eventlog.ts';
import type { Queries } from '../stores/metadata/queries.ts';
import { storedId } from '../wire/batch/stored-id.ts';

/** An event that could not be stored, with its bytes as received. */
export interface DeadLetterRow {
  readonly id: string;
  readonly project_id: number;
  readonly lane: Lane;
  readonly reason: WarningType;
  readonly detail: string;
  readonly attr: string | null;
  readonly event: string | null;
  readonly distinct_id: string | null;
  readonly event_uuid: string | null;
  readonly original: Uint8Array;
  readonly received_at: string;
  readonly rows_stored: number;
  readonly state: 'open';
  readonly decided_at: null;
}

export interface DeadLetterPlace {
  /** Id of the reader's log. */
  readonly logId: string;
  readonly lane: Lane;
  readonly seq: number;
  /** Index of the event in the record; -1: the whole record. */
  readonly index: number;
  readonly projectId: number;
  /** ms since the epoch. */
  readonly receivedAt: number;
  /** See RecordHeader. */
  readonly rowsStored?: boolean;
}

interface Reason {
  readonly reason: WarningType;
  readonly detail: string;
  readonly attr: string | null;
}

/** Project 0 has the dead letters that cannot be attributed to a project. */
export const noProject = 0;
const detailLengthMax = 1000;

/** Derives the id from the place, so that writing a dead letter twice writes one row. */
function deadLetterId({ logId, lane, seq, index }: DeadLetterPlace): string {
  return derivedId('dead-letter', logId, lane, String(seq), String(index));
}

/** Creates the dead letter of a whole record whose bytes cannot be read as events. */
export function deadRecord(place: DeadLetterPlace, reason: Reason, original: Uint8Array): DeadLetterRow {
  return toRow(place, reason, original, { event: null, distinct_id: null, event_uuid: null });
}

/** Creates the dead letter of one event of a record. */
export function deadEvent(place: DeadLetterPlace, reason: Reason, scan: ScannedBatch): DeadLetterRow {
  const base = place.index * spanStride;
  const from = scan.spans[base + span.event];
  const to = scan.spans[base + span.event + 1];
  const uuid = shownText(scan, base + span.uuid);
  return toRow(place, reason, Uint8Array.prototype.slice.call(scan.json, from, to), {
    event: shownText(scan, base + span.name),
    distinct_id: shownText(scan, base + span.distinctId),
    event_uuid: canonicalUuid(uuid) ?? uuid,
  });
}

function toRow(
  place: DeadLetterPlace,
  { reason, detail, attr }: Reason,
  original: Uint8Array,
  shown: Pick<DeadLetterRow, 'event' | 'distinct_id' | 'event_uuid'>,
): DeadLetterRow {
  return {
    id: deadLetterId(place),
    project_id: place.projectId,
    lane: place.lane,
    reason,
    detail: storable(detail).slice(0, detailLengthMax),
    attr,
    ...shown,
    original,
    received_at: isoMicros(place.receivedAt),
    rows_stored: place.rowsStored === true ? 1 : 0,
    state: 'open',
    decided_at: null,
  };
}

/** Returns a field for the list of dead letters: at most 200 characters of its value. */
function shownText({ json, spans }: ScannedBatch, cell: number): string | null {
  const from = spans[cell] ?? -1;
  const to = spans[cell + 1] ?? -1;
  if (from < 0 || isNullAt(json, from)) return null;
  return storedId(isStringAt(json, from) ? stringAt(json, from, to) : distinctIdText(json, from, to));
}

/** PostgreSQL text cannot contain NUL. */
function storable(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text).toWellFormed();
}

const rowsPerInsert = 32;

/** Belongs in the transaction that moves the cursor. */
export async function addDeadLetters(tx: Queries, rows: readonly DeadLetterRow[]): Promise<void> {
  for (let from = 0; from < rows.length; from += rowsPerInsert) {
    await tx
      .insertInto('dead_letters')
      .values(rows.slice(from, from + rowsPerInsert))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
  }
}
