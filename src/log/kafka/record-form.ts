import type { LogRecord, StoredRecord } from '../eventlog.ts';
import { recordChecksum } from '../checksum.ts';
import { parseRecordHeader } from '../record-header.ts';

/** Names of the Kafka headers of a record. FORMAT.md describes them. */
const headerName = Buffer.from('millrace');
const checksumName = Buffer.from('crc32');

export type KafkaHeaders = readonly (readonly [Buffer | null, Buffer | null])[];

/** A record as a Kafka message. */
export interface RecordMessage {
  readonly value: Buffer;
  readonly headers: Map<Buffer, Buffer>;
}

/** Converts a record. The value uses the body's memory, unless that is shared with other threads: then a copy. */
export function messageOf({ header, body }: LogRecord): RecordMessage {
  const text = JSON.stringify(header);
  const checksum = recordChecksum(text, body).toString(16).padStart(8, '0');
  const { buffer, byteOffset, byteLength } = body;
  const value = buffer instanceof ArrayBuffer ? Buffer.from(buffer, byteOffset, byteLength) : Buffer.from(body);
  return {
    value,
    headers: new Map([
      [headerName, Buffer.from(text)],
      [checksumName, Buffer.from(checksum)],
    ]),
  };
}

/** Converts a message back. One that `messageOf` did not create is returned as damaged, with the bytes of its value. */
export function recordOf(seq: number, headers: KafkaHeaders, value: Buffer | null): StoredRecord {
  const bytes = value ?? Buffer.alloc(0);
  const text = headerNamed(headers, headerName)?.toString();
  const checksum = headerNamed(headers, checksumName)?.toString();
  if (text === undefined || checksum === undefined) {
    return { seq, damaged: 'expected the headers "millrace" and "crc32", got a message without them', bytes };
  }
  const found = recordChecksum(text, bytes).toString(16).padStart(8, '0');
  if (found !== checksum) {
    return { seq, damaged: `expected checksum ${checksum.slice(0, 8)}, got: ${found}`, bytes };
  }
  const header = parseRecordHeader(text);
  if (header === undefined) return { seq, damaged: 'expected the header of a record, got something else', bytes };
  return { seq, header, body: bytes };
}

function headerNamed(headers: KafkaHeaders, name: Buffer): Buffer | undefined {
  return headers.find(([key]) => key?.equals(name) === true)?.[1] ?? undefined;
}
