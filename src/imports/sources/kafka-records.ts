import type { RecordsBatch } from '@platformatic/kafka';
import { kafkaLibrary } from '../../log/kafka-connection/connections.ts';
import type { AbortedTransaction } from '../../log/kafka-connection/fetch-answer.ts';
import { SourceError, SourceWaitError } from '../source.ts';

const lengthAt = 8;
const headBytes = 12;
const magicAt = 16;
const crcAt = 17;
const checkedFrom = 21;
const magicKnown = 2;
/** Bytes from the length field to the count of records. */
const lengthMin = 49;

/**
 * Returns the complete batches of a response after checking each. Throws SourceError for formats older than Kafka 0.11 and for
 * invalid batches, SourceWaitError for a wrong checksum.
 */
export async function readBatches(records: Buffer, place: string): Promise<RecordsBatch[]> {
  const { crc32c, readRecordsBatch, Reader: BatchReader } = await kafkaLibrary();
  const batches: RecordsBatch[] = [];
  for (let at = 0; at + headBytes <= records.length;) {
    const offset = records.readBigInt64BE(at);
    const length = records.readInt32BE(at + lengthAt);
    if (length < lengthMin) {
      throw new SourceError(
        `expected the batch at offset ${offset} of ${place} to have at least ${lengthMin} bytes, got ${length}; ${noBatch}`,
      );
    }
    const end = at + headBytes + length;
    if (end > records.length) break;
    const batch = records.subarray(at, end);
    if (batch.readInt8(magicAt) !== magicKnown) {
      throw new SourceError(
        `${place} holds messages in a format older than Kafka 0.11, which is not supported: write them again with a newer Kafka`,
      );
    }
    if (crc32c(batch.subarray(checkedFrom)) !== batch.readUInt32BE(crcAt)) {
      throw new SourceWaitError(
        `expected the batch at offset ${offset} of ${place} to match its checksum, but it does not: another ` +
          'try may succeed; otherwise the disk of a broker has damaged it',
        { unlimited: false },
      );
    }
    try {
      batches.push(readRecordsBatch(BatchReader.from(batch)));
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new SourceError(`the batch at offset ${offset} of ${place} cannot be read: ${why}; ${noBatch}`, { cause });
    }
    at = end;
  }
  return batches;
}

const noBatch = 'check that the broker is a Kafka broker, and check its disk';

/** A record of Kafka. */
export interface KafkaRecord {
  readonly offset: number;
  /** ms since the epoch. */
  readonly timestamp: number;
  readonly key: Buffer | null;
  /** Null for a tombstone. */
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [Buffer | null, Buffer | null])[];
}

const transactional = 1 << 4;
const control = 1 << 5;
const logAppendTime = 1 << 3;
/** In the key of a control record, after two bytes of version: 0 for an abort. */
const controlTypeAt = 2;

/** Yields committed records, without transaction markers. */
export function* committedRecords(
  batches: readonly RecordsBatch[],
  aborted: readonly AbortedTransaction[],
): Generator<KafkaRecord> {
  const begun = aborted.toSorted((a, b) => Number(a.firstOffset - b.firstOffset));
  let begunBefore = 0;
  const abortedNow = new Set<bigint>();
  for (const batch of batches) {
    const first = Number(batch.firstOffset);
    for (; begunBefore < begun.length; begunBefore += 1) {
      const next = begun[begunBefore];
      if (next === undefined || next.firstOffset > first + batch.lastOffsetDelta) break;
      abortedNow.add(next.producerId);
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

/** Returns the offset after the last batch, or `undefined` without batches. */
export function offsetAfter(batches: readonly RecordsBatch[]): number | undefined {
  const last = batches.at(-1);
  return last === undefined ? undefined : Number(last.firstOffset) + last.lastOffsetDelta + 1;
}
