import { crc32 } from 'node:zlib';
import { crcWords } from '../../../checksum.ts';
import type { emptyBlockEvent } from '../spill-block.ts';
import { hashRoomBytes, md5Of } from './short-hashes.ts';

type Row = ReturnType<typeof emptyBlockEvent>;

/** An event in the memory where its JSON lies. */
export interface RowBytes {
  readonly uuid: Buffer;
  readonly distinctId: Buffer;
  readonly micros: number;
  /** Its properties stand from `from` to `to`, without their last brace. */
  readonly json: Buffer;
  readonly from: number;
  readonly to: number;
}

const microsCharsMax = 24;

/** Writes the two checksums of an event (src/imports/checksum.ts) into its row. */
export function createRowChecksums(): (row: Row, event: RowBytes) => void {
  const words = new Uint32Array(2);
  let identity = Buffer.alloc(1024);
  return (row, { uuid, distinctId, micros, json, from, to }) => {
    const needed = uuid.length + distinctId.length + microsCharsMax + hashRoomBytes;
    if (needed > identity.length) identity = Buffer.alloc(needed);
    let end = putAt(identity, 0, uuid);
    identity[end++] = 0;
    end = putAt(identity, end, distinctId);
    identity[end++] = 0;
    end = putDigits(identity, end, micros);
    md5Of(identity, end, words);
    row.sumLow = words[0] as number;
    row.sumHigh = words[1] as number;
    crcWords(crc32(json.subarray(from, to)), row.sumLow, row.sumHigh, words);
    row.contentLow = words[0] as number;
    row.contentHigh = words[1] as number;
  };
}

/** Gives where it ends. */
function putAt(target: Buffer, at: number, source: Buffer): number {
  for (let next = 0; next < source.length; next += 1) target[at + next] = source[next] as number;
  return at + source.length;
}

/** Of a whole number, not negative. */
function putDigits(target: Buffer, at: number, number: number): number {
  let end = at + 1;
  for (let rest = Math.floor(number / 10); rest > 0; rest = Math.floor(rest / 10)) end += 1;
  let rest = number;
  for (let place = end - 1; place >= at; place -= 1) {
    const tens = Math.floor(rest / 10);
    target[place] = 0x30 + (rest - tens * 10);
    rest = tens;
  }
  return end;
}
