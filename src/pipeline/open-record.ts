import { freeMemory } from '../base/free-memory.ts';
import { inflateBody } from '../wire/batch/inflate-body.ts';
import type { ScanLimits } from '../wire/batch/limits.ts';
import { scanBatch } from '../wire/batch/scan.ts';
import type { ScannedBatch } from '../wire/batch/scanned-batch.ts';
import type { IntactRecord, Lane } from '../log/eventlog.ts';
import type { EventDraft, RecordContext } from './event-draft.ts';
import { createSplicer, type Splicer } from './splicer.ts';
import type { Selection } from './window.ts';

export interface BodyLimits {
  readonly scan: ScanLimits;
  readonly inflatedBytesMax: number;
}

/**
 * Where an event stands. One byte each: on the fast path an event has no object.
 *
 *     raw ─┬─ nobody looks into it ─▶ spliced ── its person has nothing to learn ─▶ row
 *          ├─ somebody does ────────▶ draft
 *          └─ dropped, a dead letter, or not selected (from a draft too) ─────────▶ ended
 */
export const state = { raw: 0, spliced: 1, row: 2, draft: 3, ended: 4 } as const;

/** A record on its way, with what is known of its events so far. */
export interface OpenRecord {
  readonly context: RecordContext;
  /** Of facts that are drafts at once (open-facts.ts) made when it is asked for. */
  readonly scan: ScannedBatch;
  /** Of JSON. */
  readonly bytes: number;
  /** Gives memory back: nobody looks at the record any more. */
  free(): void;
  /** Absent: all events. */
  readonly selection: Selection | undefined;
  /** Of each event, one of `state`. */
  readonly states: Uint8Array;
  /** Of `raw` and `spliced` events and of a `row`: the bytes. */
  readonly splicer: Splicer;
  /** Of each event that is a draft, or ended as one; in order. */
  readonly drafts: EventDraft[];
}

/** The draft of an event, to be asked for in order. */
export function draftsInOrder({ drafts }: OpenRecord): (index: number) => EventDraft {
  let next = 0;
  return (index) => {
    for (;;) {
      const draft = drafts[next++];
      if (draft === undefined) throw new Error(`expected a draft of event ${index}, got: none`);
      if (draft.index === index) return draft;
    }
  };
}

export interface OpenOptions {
  readonly selection?: Selection | undefined;
  /** Of its body, unpacked. Absent: it is made. */
  readonly scan?: ScannedBatch | undefined;
}

/** Throws when the body cannot be read, which was checked on arrival. */
export function openRecord(
  lane: Lane,
  record: IntactRecord,
  limits: BodyLimits,
  { selection, scan = scanRecord(record, limits) }: OpenOptions = {},
): OpenRecord {
  const { header } = record;
  const context = contextOf(lane, record);
  return {
    context,
    scan,
    bytes: scan.json.length,
    free: () => {
      // Not what the log gave.
      if (header.encoding !== 'identity') freeMemory(scan.json);
      freeMemory(scan.spans);
    },
    selection,
    states: new Uint8Array(scan.count),
    splicer: createSplicer(context, scan),
    drafts: [],
  };
}

export function contextOf(lane: Lane, { header, seq }: IntactRecord): RecordContext {
  return {
    lane,
    seq,
    projectId: header.projectId,
    part: header.part ?? 0,
    receivedAt: header.receivedAt,
    sentAt: header.sentAt,
    ip: lane === 'live' ? header.ip : undefined,
    rowsStored: header.rowsStored,
    occurrences: new Map(),
  };
}

export function scanRecord({ header: { encoding }, body }: IntactRecord, limits: BodyLimits): ScannedBatch {
  return scanBatch(inflateBody({ encoding, body }, limits.inflatedBytesMax), limits.scan);
}
