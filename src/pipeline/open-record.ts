import type { ScanLimits } from '../batch/limits.ts';
import { scanBatch } from '../batch/scan.ts';
import type { ScannedBatch } from '../batch/scanned-batch.ts';
import type { IntactRecord, Lane } from '../eventlog/eventlog.ts';
import type { Person } from '../persons/person.ts';
import type { EventDraft, RecordContext } from './draft.ts';
import { inflateBody } from './steps/inflate-body.ts';
import { createSplicer, type Splicer } from './steps/splice-event.ts';

export interface BodyLimits {
  readonly scan: ScanLimits;
  readonly inflatedBytesMax: number;
}

/** Of an event whose person is known and no younger than the event: only its row is left to write. */
export const settled = true;

/** A record and what is known of its events so far. */
export interface RecordPlan {
  readonly context: RecordContext;
  readonly scan: ScannedBatch;
  /** Whether the JSON text is a copy of this plan's own, unpacked from the record. */
  readonly isUnpacked: boolean;
  readonly splicer: Splicer;
  /**
   * One per event. Fast path: `settled` when its person has nothing to learn from it, else its person if in memory, else
   * its distinct_id; other path: the draft; null: it goes no further.
   */
  readonly items: (typeof settled | Person | string | EventDraft | null)[];
  /** Fast path only: time and identity day. */
  readonly micros: Float64Array;
  readonly keyDays: Int32Array;
}

/** Throws when the body cannot be read, which was checked on arrival. */
export function openRecord(lane: Lane, record: IntactRecord, limits: BodyLimits): RecordPlan {
  const scan = scanBatch(inflateBody(record, limits.inflatedBytesMax), limits.scan);
  const { header, seq } = record;
  const context: RecordContext = {
    lane,
    seq,
    projectId: header.projectId,
    receivedAt: header.receivedAt,
    sentAt: header.sentAt,
    ip: lane === 'live' ? header.ip : undefined,
    occurrences: new Map(),
  };
  return {
    context,
    scan,
    isUnpacked: header.encoding !== 'identity',
    splicer: createSplicer(context, scan),
    items: Array.from<null>({ length: scan.count }).fill(null),
    micros: new Float64Array(scan.count),
    keyDays: new Int32Array(scan.count),
  };
}
