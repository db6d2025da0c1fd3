import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import type { RecordResult } from '../../../formats/format.ts';
import type { OpenTransform, Transform, TransformFailure, TransformOutcome } from '../../../transform.ts';
import { hashIdentity, hashText } from '../rows/event-keys.ts';
import { apart } from '../links/made-links.ts';
import type { SegmentMemory } from '../threads/segment-memory.ts';
import { transformEvents } from './transform-events.ts';

/** A line of a segment with the result of its reader. */
export interface ReadRecord {
  readonly line: number;
  readonly text: string;
  readonly result: RecordResult;
}

/** A record after the transform: events that the code dropped are excluded, with their reason. */
export interface TransformedRecord extends ReadRecord {
  /** Failures of the code. */
  readonly failures: readonly TransformFailure[];
}

export interface TransformRecordsDeps {
  readonly signal: AbortSignal;
  /** Memory of the reader of these events. */
  readonly memory: Pick<SegmentMemory, 'links' | 'exclude' | 'became'>;
}

/** Events per call: many share the cost of the round trip. */
const batchEventsMax = 512;
const batchCharsMax = 1 << 20;

/**
 * Yields records in order after the transform. Events are passed in batches, and the next batch is transformed while the current one is
 * processed here. The transform is opened for these records and closed after them.
 */
export async function* transformRecords(
  transform: Transform,
  records: Iterable<ReadRecord>,
  { signal, memory }: TransformRecordsDeps,
): AsyncGenerator<TransformedRecord> {
  const opened = await transform.open();
  const dropReason = `dropped by the transform "${transform.name}"`;
  const batches = batchesOf(records);
  const runAhead = (): Promise<RanBatch | undefined> => {
    const running = runNext(batches, transform, opened);
    // A failure surfaces when the batch is awaited; until then it is not an unhandled rejection.
    running.catch(() => undefined);
    return running;
  };
  let ahead = runAhead();
  try {
    for (let ran = await ahead; ran !== undefined; ran = await ahead) {
      // After an abort this may be the end of the process rather than a result of the code.
      signal.throwIfAborted();
      ahead = runAhead();
      let at = 0;
      for (const record of ran.batch) {
        const own = ran.outcomes.slice(at, (at += eventsOf(record.result).length));
        yield toTransformed(record, own, dropReason, memory);
      }
    }
  } finally {
    // The caller may stop early.
    await Promise.allSettled([ahead]);
    await opened.close();
  }
}

interface RanBatch {
  readonly batch: readonly ReadRecord[];
  readonly outcomes: readonly TransformOutcome[];
}

async function runNext(
  batches: Iterator<readonly ReadRecord[]>,
  transform: Transform,
  opened: OpenTransform,
): Promise<RanBatch | undefined> {
  const next = batches.next();
  if (next.done === true) return undefined;
  const events = next.value.flatMap(({ result }) => eventsOf(result));
  return { batch: next.value, outcomes: events.length === 0 ? [] : await transformEvents(transform, opened, events) };
}

function* batchesOf(records: Iterable<ReadRecord>): Generator<readonly ReadRecord[]> {
  let batch: ReadRecord[] = [];
  let events = 0;
  let chars = 0;
  for (const record of records) {
    batch.push(record);
    events += eventsOf(record.result).length;
    chars += record.text.length;
    if (events < batchEventsMax && chars < batchCharsMax && batch.length < batchEventsMax) continue;
    yield batch;
    batch = [];
    events = 0;
    chars = 0;
  }
  if (batch.length > 0) yield batch;
}

function eventsOf(result: RecordResult): readonly WireEvent[] {
  return result.kind === 'events' ? result.events : [];
}

function toTransformed(
  record: ReadRecord,
  outcomes: readonly TransformOutcome[],
  dropReason: string,
  memory: TransformRecordsDeps['memory'],
): TransformedRecord {
  const { result } = record;
  if (result.kind !== 'events' || outcomes.length === 0) return { ...record, failures: [] };
  const events: WireEvent[] = [];
  const failures: TransformFailure[] = [];
  const leftOut = [...(result.chosen?.leftOut ?? [])];
  const isLinkEvent = ({ uuid }: WireEvent): boolean => memory.links.has(uuid);
  const hasOnlyLinks = result.events.every(isLinkEvent);
  for (const [index, outcome] of outcomes.entries()) {
    const event = result.events[index];
    const isLink = event !== undefined && isLinkEvent(event);
    if (isLink) memory.became(event, outcomeNumber(outcome, event, hasOnlyLinks));
    if (outcome.kind === 'kept') events.push(outcome.event);
    else if (outcome.kind === 'failed') failures.push(outcome);
    // A link that occurs in several segments counts once.
    else if (!isLink || memory.exclude(event.uuid, dropReason)) leftOut.push(dropReason);
  }
  const chosen = { read: events.length + failures.length + leftOut.length, leftOut };
  const found = {
    chosen,
    ...(result.unusual && { unusual: result.unusual }),
    ...(result.notes && { notes: result.notes }),
  };
  const isDropped = events.length + failures.length === 0;
  return {
    ...record,
    result: isDropped ? { kind: 'skipped', reason: dropReason, ...found } : { kind: 'events', events, ...found },
    failures,
  };
}

const dropped = 1;
const name = { low: 0, high: 0 };
const id = { low: 0, high: 0 };
const key = { low: 0, high: 0 };

/** Identifies the result of transforming a link: equal results have equal numbers. */
function outcomeNumber(outcome: TransformOutcome, { uuid }: WireEvent, hasOnlyLinks: boolean): number {
  if (outcome.kind === 'failed') return apart;
  // A record of nothing but links is skipped as a whole.
  if (outcome.kind === 'dropped') return hasOnlyLinks ? apart : dropped;
  const { event } = outcome;
  if (event.uuid !== uuid) return apart;
  hashText(event.event, name);
  hashText(event.distinct_id, id);
  hashIdentity(uuid, name, id, key);
  return Math.max(key.low, dropped + 1);
}
