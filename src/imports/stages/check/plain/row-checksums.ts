import { crc32 } from 'node:zlib';
import { crcWords, md5Words } from '../../../checksum.ts';
import type { emptyBlockEvent } from '../spill-block.ts';

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
    const needed = uuid.length + distinctId.length + microsCharsMax;
    if (needed > identity.length) identity = Buffer.alloc(needed);
    let end = uuid.copy(identity);
    identity[end++] = 0;
    end += distinctId.copy(identity, end);
    identity[end++] = 0;
    end += identity.write(String(micros), end, 'latin1');
    md5Words(identity.subarray(0, end), words);
    row.sumLow = words[0] as number;
    row.sumHigh = words[1] as number;
    crcWords(crc32(json.subarray(from, to)), row.sumLow, row.sumHigh, words);
    row.contentLow = words[0] as number;
    row.contentHigh = words[1] as number;
  };
}
