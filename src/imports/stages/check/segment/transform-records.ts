import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import type { RecordResult } from '../../../formats/format.ts';
import type { OpenTransform, Transform, TransformFailure, TransformOutcome } from '../../../transform.ts';
import { hashIdentity, hashText } from '../rows/event-keys.ts';
import { apart } from '../links/made-links.ts';
import type { SegmentMemory } from '../threads/segment-memory.ts';
import { transformEvents } from './transform-events.ts';

/** A line of a segment as its reader took it. */
export interface ReadRecord {
  readonly line: number;
  readonly text: string;
  readonly result: RecordResult;
}

/** The same with the events as they became; what the code dropped is left out, with its reason. */
export interface TransformedRecord extends ReadRecord {
  /** Of events that the code failed at. */
  readonly failures: readonly TransformFailure[];
}

export interface TransformRecordsDeps {
  readonly signal: AbortSignal;
  /** Of the reader that made the events. */
  readonly memory: Pick<SegmentMemory, 'links' | 'exclude' | 'became'>;
}

/** Handed over together: enough that the way there and back is paid by many. */
const batchEventsMax = 512;
const batchCharsMax = 1 << 20;

/**
 * Records in their order with what the code makes of their events, which are handed over many at a time: while some are looked
 * at here, the next ones are at work there. It is set up for these records and closed with them.
 */
export async function* transformRecords(
  transform: Transform,
  records: Iterable<ReadRecord>,
  { signal, memory }: TransformRecordsDeps,
): AsyncGenerator<TransformedRecord> {
  const opened = await transform.open();
  const leftOutReason = `dropped by the transform "${transform.name}"`;
  const batches = batchesOf(records);
  const runAhead = (): Promise<RanBatch | undefined> => {
    const running = runNext(batches, transform, opened);
    // A failure is met when its turn comes; until then it is not one that nobody handles.
    running.catch(() => undefined);
    return running;
  };
  let ahead = runAhead();
  try {
    for (let ran = await ahead; ran !== undefined; ran = await ahead) {
      // What a stopped run still got may be the end of the code's process, not its answer.
      signal.throwIfAborted();
      ahead = runAhead();
      let at = 0;
      for (const record of ran.batch) {
        const own = ran.outcomes.slice(at, (at += eventsOf(record.result).length));
        yield settled(record, own, leftOutReason, memory);
      }
    }
  } finally {
    // Nobody looks at it any more where the records end early.
    await Promise.allSettled([ahead]);
    await opened.close();
  }
}

interface RanBatch {
  readonly batch: readonly ReadRecord[];
  readonly outcomes: readonly TransformOutcome[];
}

/** Undefined: there are no more. */
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

function settled(
  record: ReadRecord,
  outcomes: readonly TransformOutcome[],
  leftOutReason: string,
  memory: TransformRecordsDeps['memory'],
): TransformedRecord {
  const { result } = record;
  if (result.kind !== 'events' || outcomes.length === 0) return { ...record, failures: [] };
  const events: WireEvent[] = [];
  const failures: TransformFailure[] = [];
  const leftOut = [...(result.chosen?.leftOut ?? [])];
  const isMade = ({ uuid }: WireEvent): boolean => memory.links.has(uuid);
  const isOfLinks = result.events.every(isMade);
  for (const [index, outcome] of outcomes.entries()) {
    const event = result.events[index];
    const isLink = event !== undefined && isMade(event);
    if (isLink) memory.became(event, whatOf(outcome, event, isOfLinks));
    if (outcome.kind === 'kept') events.push(outcome.event);
    else if (outcome.kind === 'failed') failures.push(outcome);
    // A link that is made in several segments counts once.
    else if (!isLink || memory.exclude(event.uuid, leftOutReason)) leftOut.push(leftOutReason);
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
    result: isDropped ? { kind: 'skipped', reason: leftOutReason, ...found } : { kind: 'events', events, ...found },
    failures,
  };
}

const dropped = 1;
const name = { low: 0, high: 0 };
const id = { low: 0, high: 0 };
const key = { low: 0, high: 0 };

/** Of a link: the same number where it became the same. */
function whatOf(outcome: TransformOutcome, { uuid }: WireEvent, isOfLinks: boolean): number {
  if (outcome.kind === 'failed') return apart;
  // A record that has nothing but links is skipped for them.
  if (outcome.kind === 'dropped') return isOfLinks ? apart : dropped;
  const { event } = outcome;
  if (event.uuid !== uuid) return apart;
  hashText(event.event, name);
  hashText(event.distinct_id, id);
  hashIdentity(uuid, name, id, key);
  return Math.max(key.low, dropped + 1);
}
