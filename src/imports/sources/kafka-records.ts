import type { RecordsBatch } from '@platformatic/kafka';
import { kafkaLibrary } from '../../kafka/connections.ts';
import type { AbortedTransaction } from '../../kafka/fetch-answer.ts';
import { SourceError, SourceWaitError } from '../source.ts';

const lengthAt = 8;
const headBytes = 12;
const magicAt = 16;
const crcAt = 17;
const checkedFrom = 21;
const magicKnown = 2;

/**
 * The whole batches of an answer, each checked. Throws SourceError for the formats that Kafka wrote before 0.11, SourceWaitError
 * for one whose checksum does not hold.
 */
export async function readBatches(records: Buffer, place: string): Promise<RecordsBatch[]> {
  const { crc32c, readRecordsBatch, Reader: BatchReader } = await kafkaLibrary();
  const batches: RecordsBatch[] = [];
  for (let at = 0; at + headBytes <= records.length;) {
    const end = at + headBytes + records.readInt32BE(at + lengthAt);
    if (end > records.length) break;
    const batch = records.subarray(at, end);
    if (batch.readInt8(magicAt) !== magicKnown) {
      throw new SourceError(
        `${place} holds messages in a format of Kafka before 0.11, which is not read: write them anew with a newer Kafka`,
      );
    }
    if (crc32c(batch.subarray(checkedFrom)) !== batch.readUInt32BE(crcAt)) {
      const offset = batch.readBigInt64BE(0);
      throw new SourceWaitError(
        `expected the batch at offset ${offset} of ${place} to be as it was written, but its checksum does not hold: another ` +
          'try may bring it whole; else the disk of a broker has damaged it',
        { unlimited: false },
      );
    }
    batches.push(readRecordsBatch(BatchReader.from(batch)));
    at = end;
  }
  return batches;
}

/** A record as Kafka holds it. */
export interface KafkaRecord {
  readonly offset: number;
  /** ms since the epoch. */
  readonly timestamp: number;
  readonly key: Buffer | null;
  /** Null: a tombstone. */
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [Buffer | null, Buffer | null])[];
}

const transactional = 1 << 4;
const control = 1 << 5;
const logAppendTime = 1 << 3;
/** In the key of a control record, after two bytes of version: 0 for an abort. */
const controlTypeAt = 2;

/** What was committed, without the marks of transactions. */
export function* committedRecords(
  batches: readonly RecordsBatch[],
  aborted: readonly AbortedTransaction[],
): Generator<KafkaRecord> {
  const begun = aborted.toSorted((a, b) => Number(a.firstOffset - b.firstOffset));
  const abortedNow = new Set<bigint>();
  for (const batch of batches) {
    const first = Number(batch.firstOffset);
    while ((begun[0]?.firstOffset ?? Infinity) <= first + batch.lastOffsetDelta) {
      const [next] = begun.splice(0, 1);
      if (next !== undefined) abortedNow.add(next.producerId);
    }
    if ((batch.attributes & control) !== 0) {
      if (batch.records[0]?.key?.readInt16BE(controlTypeAt) === 0) abortedNow.delete(batch.producerId);
    } else if ((batch.attributes & transactional) === 0 || !abortedNow.has(batch.producerId)) {
      yield* recordsOf(batch, first);
    }
  }
}

function* recordsOf(batch: RecordsBatch, first: number): Generator<KafkaRecord> {
  const base = Number(batch.firstTimestamp);
  const appended = (batch.attributes & logAppendTime) !== 0 ? Number(batch.maxTimestamp) : undefined;
  for (const { offsetDelta, timestampDelta, key, value, headers } of batch.records) {
    const timestamp = appended ?? base + Number(timestampDelta);
    yield { offset: first + offsetDelta, timestamp, key, value, headers };
  }
}

/** The offset after the last of the batches; undefined: there are none. */
export function offsetAfter(batches: readonly RecordsBatch[]): number | undefined {
  const last = batches.at(-1);
  return last === undefined ? undefined : Number(last.firstOffset) + last.lastOffsetDelta + 1;
}
