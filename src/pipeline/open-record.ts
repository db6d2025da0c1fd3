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
 * State of an event, in one byte: on the fast path an event has no object.
 *
 *     raw ─┬─ its properties need not be read ─▶ spliced ── its person does not change ─▶ row
 *          ├─ they have to be read ────────────▶ draft
 *          └─ dropped, a dead letter, or not selected (also from draft) ───────────────▶ ended
 */
export const state = { raw: 0, spliced: 1, row: 2, draft: 3, ended: 4 } as const;

/** A record being processed, with the state of its events. */
export interface OpenRecord {
  readonly context: RecordContext;
  /** Created on first use for facts, which start as drafts (`openFacts` in window-builder.ts). */
  readonly scan: ScannedBatch;
  /** Size of its JSON. */
  readonly bytes: number;
  /** Releases memory: the record is no longer used. */
  free(): void;
  /** Absent: all events are processed. */
  readonly selection: Selection | undefined;
  /** For each event, one of `state`. */
  readonly states: Uint8Array;
  /** Reads and writes events as bytes: those in state `raw`, `spliced` and `row`. */
  readonly splicer: Splicer;
  /** Each event that is a draft, or ended as one, in order. */
  readonly drafts: EventDraft[];
}

/** Returns a lookup of drafts by event, which must be called in order. */
export function draftsInOrder({ drafts }: OpenRecord): (index: number) => EventDraft {
  let next = 0;
  return (index) => {
    for (;;) {
      const draft = drafts[next++];
      if (draft === undefined) throw new Error(`expected a draft of event ${index}, got none`);
      if (draft.index === index) return draft;
    }
  };
}

export interface OpenOptions {
  readonly selection?: Selection | undefined;
  /** Scan of the unpacked body. Absent: it is created. */
  readonly scan?: ScannedBatch | undefined;
}

/** @throws when the body cannot be read, although it was checked on arrival */
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
      // An identity body belongs to the log.
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
