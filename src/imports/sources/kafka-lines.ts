import { isUtf8 } from 'node:buffer';
import { lineWithoutRecord, type RecordChunk, type SourceFault } from '../source.ts';
import type { KafkaRecord } from './kafka-records.ts';

/** What a record is: the value of a message, or the message with its key, time and headers, and the value in it. */
export const recordKinds = ['value', 'message'] as const;
export type RecordKind = (typeof recordKinds)[number];

const newline = Buffer.from('\n');
const byteOrderMark = Buffer.from('\ufeff');
/** Serialisers of a schema registry write a zero and the four bytes of the schema's id before the value. */
const registryMark = 0;
const registryBytes = 5;

/** Collects messages of one partition as lines. */
export interface LineCollector {
  add(record: KafkaRecord): void;
  take(): Pick<RecordChunk, 'lines' | 'count' | 'faults'>;
}

export function createLineCollector(partition: number, kind: RecordKind): LineCollector {
  let lines: Buffer[] = [];
  let faults: SourceFault[] = [];
  let count = 0;
  return {
    add(record) {
      if (record.value === null) lines.push(lineWithoutRecord);
      else {
        const json = jsonOf(record.value);
        if (json === undefined) {
          faults.push(faultOf(record.value, `partition ${partition}, offset ${record.offset}`));
          return;
        }
        lines.push(kind === 'value' ? json : messageOf(record, partition, json), newline);
      }
      count += 1;
    },
    take() {
      const taken = { lines: Buffer.concat(lines), count, ...(faults.length > 0 && { faults }) };
      lines = [];
      faults = [];
      count = 0;
      return taken;
    },
  };
}

/** The value in one line, every digit as it is; undefined: it is no JSON. */
function jsonOf(value: Buffer): Buffer | undefined {
  const bare = value.subarray(0, 3).equals(byteOrderMark) ? value.subarray(3) : value;
  if (bare[0] === registryMark && bare.length > registryBytes) return jsonOf(bare.subarray(registryBytes));
  if (!isUtf8(bare)) return undefined;
  const text = bare.toString('utf8');
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  // In JSON line breaks can only stand between values.
  return bare.includes(newline) ? Buffer.from(text.replaceAll(/[\r\n]+/g, ' ')) : bare;
}

function faultOf(value: Buffer, place: string): SourceFault {
  const isText = isUtf8(value);
  const got = isText ? 'something else' : 'bytes that are no text (original: base64)';
  const registry = value[0] === registryMark ? '; Avro and Protobuf of a schema registry are not read' : '';
  return {
    place,
    reason: `expected one JSON value in the message, got: ${got}${registry}`,
    original: value.toString(isText ? 'utf8' : 'base64'),
  };
}

function messageOf({ offset, timestamp, key, headers }: KafkaRecord, partition: number, json: Buffer): Buffer {
  const about = {
    partition,
    offset,
    timestamp: new Date(timestamp).toISOString(),
    key: textOf(key),
    headers: Object.fromEntries(headers.map(([name, value]) => [textOf(name) ?? '', textOf(value)])),
  };
  return Buffer.concat([Buffer.from(`${JSON.stringify(about).slice(0, -1)},"value":`), json, Buffer.from('}')]);
}

/** Bytes that are no text in base64. */
function textOf(bytes: Buffer | null): string | null {
  return bytes === null ? null : bytes.toString(isUtf8(bytes) ? 'utf8' : 'base64');
}
