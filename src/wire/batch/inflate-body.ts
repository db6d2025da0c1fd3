import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { freeMemory } from '../../base/free-memory.ts';
import { arrayOfLines } from '../../base/json-lines.ts';
import type { BodyEncoding } from '../../log/eventlog.ts';

const chunkMax = 64 * 1024 * 1024;
/** What a frame of an import usually holds. */
const linesChunk = 2 * 1024 * 1024;
/** A frame of an import holds less: a few megabytes, or one event of the largest size that the settings allow. */
const linesMax = 64 * 1024 * 1024;

/** A body as the log keeps it. */
export interface KeptBody {
  readonly encoding: BodyEncoding;
  readonly body: Uint8Array;
}

/** The JSON text of a body; `bytesMax` is the limit of bodies that came from outside. Throws when the bytes are not what the header says: they were checked on arrival. */
export function inflateBody({ encoding, body }: KeptBody, bytesMax: number): Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (encoding === 'identity') return bytes;
  if (encoding === 'zstd-ndjson') {
    const lines = inflateLines(body);
    const array = arrayOfLines(lines);
    freeMemory(lines);
    return array;
  }
  // Most bodies shrink to a tenth: one chunk of the stated size saves growing. The last four bytes state it, modulo 2^32.
  const stated = bytes.length >= 18 ? bytes.readUInt32LE(bytes.length - 4) : 0;
  const chunkSize = Math.min(Math.max(stated + 1, 1024), bytesMax, chunkMax);
  return gunzipSync(bytes, { maxOutputLength: bytesMax, chunkSize });
}

/** The lines of a body of the encoding `zstd-ndjson`. */
export function inflateLines(body: Uint8Array): Buffer {
  return zstdDecompressSync(body, { maxOutputLength: linesMax, chunkSize: linesChunk });
}
