import type { WireEvent } from '../../../contract/wire-event.ts';
import type { RecordResult } from '../../formats/format.ts';
import type { OpenTransform, Transform, TransformOutcome } from '../../transform.ts';

/** A line of a segment as its reader took it. */
export interface ReadRecord {
  readonly line: number;
  readonly text: string;
  readonly result: RecordResult;
}

/** The same with the events as they became; what the code dropped is left out, with its reason. */
export interface TransformedRecord extends ReadRecord {
  /** Of events that the code failed at. */
  readonly failures: readonly Failure[];
}

type Failure = Pick<Extract<TransformOutcome, { kind: 'failed' }>, 'code' | 'reason'>;

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
  signal: AbortSignal,
): AsyncGenerator<TransformedRecord> {
  const opened = await transform.open();
  const leftOutReason = `dropped by the transform "${transform.name}"`;
  const batches = batchesOf(records);
  const runAhead = (): Promise<RanBatch | undefined> => {
    const running = runNext(batches, opened);
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
        yield settled(record, own, leftOutReason);
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
async function runNext(batches: Iterator<readonly ReadRecord[]>, opened: OpenTransform): Promise<RanBatch | undefined> {
  const next = batches.next();
  if (next.done === true) return undefined;
  const events = next.value.flatMap(({ result }) => eventsOf(result));
  return { batch: next.value, outcomes: events.length === 0 ? [] : await opened.run(events) };
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

function settled(record: ReadRecord, outcomes: readonly TransformOutcome[], leftOutReason: string): TransformedRecord {
  const { result } = record;
  if (result.kind !== 'events' || outcomes.length === 0) return { ...record, failures: [] };
  const events: WireEvent[] = [];
  const failures: Failure[] = [];
  const leftOut = [...(result.chosen?.leftOut ?? [])];
  for (const outcome of outcomes) {
    if (outcome.kind === 'kept') events.push(outcome.event);
    else if (outcome.kind === 'dropped') leftOut.push(leftOutReason);
    else failures.push(outcome);
  }
  const chosen = { read: outcomes.length + (result.chosen?.leftOut.length ?? 0), leftOut };
  const found = { chosen, ...(result.odd && { odd: result.odd }), ...(result.notes && { notes: result.notes }) };
  const isDropped = events.length + failures.length === 0;
  return {
    ...record,
    result: isDropped ? { kind: 'skipped', reason: leftOutReason, ...found } : { kind: 'events', events, ...found },
    failures,
  };
}
