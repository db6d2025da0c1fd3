import type { KafkaRecord, RecordsBatch } from '@platformatic/kafka';
import { kafkaLibrary } from '../kafka-connection/connections.ts';
import type { StoredRecord } from '../eventlog.ts';
import { recordOf } from './record-form.ts';

/** Offsets in a batch of the format that Kafka writes since 0.11. */
const lengthAt = 8;
const headBytes = 12;
const crcAt = 17;
const checkedFrom = 21;
const lastDeltaAt = 23;
const headerBytesMin = 61;
const control = 1 << 5;
const recordsOfBatchMax = 1_000_000;

/** Returns the seq of an offset: the first record has 1, and a cursor at 0 has seen none. */
export function seqOf(offset: number): number {
  return offset + 1;
}

export interface DecodedBatches {
  /** From the wanted offset on, in order. */
  readonly records: readonly StoredRecord[];
  /** The offset after the last record. */
  readonly next: number;
}

/** Decodes a broker's response for a partition from `offset` on: it contains whole batches, and the last one may be truncated. */
export async function decodeBatches(bytes: Buffer, offset: number): Promise<DecodedBatches> {
  const { crc32c, readRecordsBatch, Reader } = await kafkaLibrary();
  const records: StoredRecord[] = [];
  let next = offset;
  for (let at = 0; at + headBytes <= bytes.length;) {
    const end = at + headBytes + bytes.readInt32BE(at + lengthAt);
    if (end > bytes.length || end - at < headerBytesMin) break;
    const batch = bytes.subarray(at, end);
    const isWhole = crc32c(batch.subarray(checkedFrom)) === batch.readUInt32BE(crcAt);
    const found = isWhole ? readRecordsBatch(Reader.from(batch)) : undefined;
    for (const record of found === undefined ? [damagedBatch(batch)] : recordsOf(found)) {
      if (record.seq > offset) records.push(record);
    }
    next = Math.max(next, found === undefined ? damagedBatch(batch).seq : endOf(found));
    at = end;
  }
  return { records, next };
}

function endOf({ firstOffset, lastOffsetDelta }: RecordsBatch): number {
  return Number(firstOffset) + lastOffsetDelta + 1;
}

function recordsOf(batch: RecordsBatch): StoredRecord[] {
  // Transaction markers, which this program never writes.
  if ((batch.attributes & control) !== 0) return [];
  const first = Number(batch.firstOffset);
  return batch.records.map(({ offsetDelta, headers, value }: KafkaRecord) =>
    recordOf(seqOf(first + offsetDelta), headers, value),
  );
}

/** Replaces all records of a damaged batch by one damaged record with the number of the last. */
function damagedBatch(batch: Buffer): StoredRecord & { readonly damaged: string } {
  const first = Number(batch.readBigInt64BE(0));
  const delta = batch.readInt32BE(lastDeltaAt);
  const last = first + (delta >= 0 && delta < recordsOfBatchMax ? delta : 0);
  const damaged = `expected the batch at offset ${first} of Kafka to match its checksum, it does not`;
  return { seq: seqOf(last), damaged, bytes: batch };
}
