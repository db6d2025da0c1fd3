import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { freeMemory } from '../../base/free-memory.ts';
import { arrayOfLines } from '../../base/json-lines.ts';
import type { BodyEncoding } from '../../log/eventlog.ts';

const chunkMax = 64 * 1024 * 1024;
/** Usual size of an import's frame. */
const linesChunk = 2 * 1024 * 1024;
/** An import's frame is smaller: a few megabytes, or one event of the maximum size that the settings permit. */
const linesMax = 64 * 1024 * 1024;

/** A body as stored in the log. */
export interface KeptBody {
  readonly encoding: BodyEncoding;
  readonly body: Uint8Array;
}

/** Returns the JSON text of a body. `bytesMax` limits bodies of clients. Throws if the bytes do not match the encoding, which capture has checked. */
export function inflateBody({ encoding, body }: KeptBody, bytesMax: number): Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (encoding === 'identity') return bytes;
  if (encoding === 'zstd-ndjson') {
    const lines = inflateLines(body);
    const array = arrayOfLines(lines);
    freeMemory(lines);
    return array;
  }
  // One chunk of the size in the last four bytes (modulo 2^32) saves growing: most bodies unpack to ten times their size.
  const stated = bytes.length >= 18 ? bytes.readUInt32LE(bytes.length - 4) : 0;
  const chunkSize = Math.min(Math.max(stated + 1, 1024), bytesMax, chunkMax);
  return gunzipSync(bytes, { maxOutputLength: bytesMax, chunkSize });
}

/** Unpacks the lines of a `zstd-ndjson` body. */
export function inflateLines(body: Uint8Array): Buffer {
  return zstdDecompressSync(body, { maxOutputLength: linesMax, chunkSize: linesChunk });
}
