import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { compacted, freeMemory } from '../../../base/free-memory.ts';
import { inOnePiece } from './in-one-piece.ts';

/**
 * A block: some events of one day in the order of their time, as what merging needs of them beside their JSON, so that
 * nothing is parsed again. Columns of numbers, then the JSON of all events, each with its \n; the whole is one frame of
 * zstd.
 */
export interface Block {
  readonly count: number;
  /** µs since the epoch. */
  readonly micros: Float64Array;
  /** Identity for duplicates (event-keys.ts) and share of the checksum (checksum.ts), in halves. */
  readonly keyLow: Uint32Array;
  readonly keyHigh: Uint32Array;
  readonly sumLow: Uint32Array;
  readonly sumHigh: Uint32Array;
  /** Share of the checksum of contents. */
  readonly contentLow: Uint32Array;
  readonly contentHigh: Uint32Array;
  /** Index into the names that the writer of the block kept. */
  readonly name: Uint32Array;
  /** Where the JSON begins; one more than there are events, the last is the end. */
  readonly start: Uint32Array;
  readonly json: Buffer;
}

/** One event as it goes into a block. */
export interface BlockEvent {
  readonly micros: number;
  readonly keyLow: number;
  readonly keyHigh: number;
  readonly sumLow: number;
  readonly sumHigh: number;
  readonly contentLow: number;
  readonly contentHigh: number;
  readonly name: number;
}

/** To be filled again and again. */
export function emptyBlockEvent(): { -readonly [Key in keyof BlockEvent]: number } {
  return { micros: 0, keyLow: 0, keyHigh: 0, sumLow: 0, sumHigh: 0, contentLow: 0, contentHigh: 0, name: 0 };
}

export interface BlockWriter {
  readonly count: number;
  readonly jsonBytes: number;
  /** Whether an event with so much JSON belongs into the next block. */
  isFullFor(bytes: number): boolean;
  /** JSON with its \n, in `source`. */
  add(event: BlockEvent, source: Buffer, from: number, to: number): void;
  /** The compressed block; the writer is empty again. */
  finish(): Buffer;
}

const eventsMax = 4096;
const wordsPerEvent = 10;
const headerBytes = 8;
/** The fastest level whose files are still small: spills are read once and thrown away. */
const level = 1;

/** `jsonBytesMax`: what a block aims at; one event alone may be larger. */
export function createBlockWriter(jsonBytesMax: number): BlockWriter {
  const micros = new Float64Array(eventsMax);
  const words = new Uint32Array(eventsMax * (wordsPerEvent - 2));
  let json = Buffer.allocUnsafe(jsonBytesMax);
  let count = 0;
  let jsonBytes = 0;
  return {
    get count() {
      return count;
    },
    get jsonBytes() {
      return jsonBytes;
    },
    isFullFor: (bytes) => count === eventsMax || (count > 0 && jsonBytes + bytes > jsonBytesMax),
    add: (event, source, from, to) => {
      if (jsonBytes + to - from > json.length) json = Buffer.allocUnsafe(to - from);
      micros[count] = event.micros;
      words[count] = event.keyLow;
      words[eventsMax + count] = event.keyHigh;
      words[2 * eventsMax + count] = event.sumLow;
      words[3 * eventsMax + count] = event.sumHigh;
      words[4 * eventsMax + count] = event.contentLow;
      words[5 * eventsMax + count] = event.contentHigh;
      words[6 * eventsMax + count] = event.name;
      words[7 * eventsMax + count] = jsonBytes;
      source.copy(json, jsonBytes, from, to);
      jsonBytes += to - from;
      count += 1;
    },
    finish: () => {
      const raw = Buffer.allocUnsafe(headerBytes + count * wordsPerEvent * 4 + jsonBytes);
      raw.writeUInt32LE(count, 0);
      raw.writeUInt32LE(jsonBytes, 4);
      let at = headerBytes + copyColumn(micros, 0, count, raw, headerBytes);
      for (let column = 0; column < wordsPerEvent - 2; column += 1) {
        at += copyColumn(words, column * eventsMax, count, raw, at);
      }
      json.copy(raw, at, 0, jsonBytes);
      if (json.length > jsonBytesMax) json = Buffer.allocUnsafe(jsonBytesMax);
      count = 0;
      jsonBytes = 0;
      const block = compress(raw, level);
      freeMemory(raw);
      return block;
    },
  };
}

/** Bytes written. */
function copyColumn(
  column: Float64Array | Uint32Array,
  from: number,
  count: number,
  target: Buffer,
  at: number,
): number {
  const size = column.BYTES_PER_ELEMENT;
  target.set(new Uint8Array(column.buffer, column.byteOffset + from * size, count * size), at);
  return count * size;
}

export function compress(raw: Buffer, compressionLevel: number): Buffer {
  // With a checksum: a damaged file must not be taken for a good one.
  const params = { [constants.ZSTD_c_compressionLevel]: compressionLevel, [constants.ZSTD_c_checksumFlag]: 1 };
  // In one piece: room for what does not compress.
  return compacted(zstdCompressSync(raw, { chunkSize: raw.length + (raw.length >> 7) + 1024, params }));
}

/** Throws when the bytes are no block. */
export function readBlock(bytes: Buffer, rawBytes: number): Block {
  const raw = zstdDecompressSync(bytes, inOnePiece(rawBytes));
  const count = raw.readUInt32LE(0);
  const jsonBytes = raw.readUInt32LE(4);
  if (raw.length !== headerBytes + count * wordsPerEvent * 4 + jsonBytes) {
    throw new Error(`expected a block of ${count} events and ${jsonBytes} bytes of JSON, got: ${raw.length} bytes`);
  }
  const wordsAt = headerBytes + count * 8;
  // Copied, because numbers have to lie at even places.
  const micros = new Float64Array(raw.buffer.slice(raw.byteOffset + headerBytes, raw.byteOffset + wordsAt));
  const jsonAt = wordsAt + count * (wordsPerEvent - 2) * 4;
  const words = new Uint32Array(raw.buffer.slice(raw.byteOffset + wordsAt, raw.byteOffset + jsonAt));
  const column = (index: number): Uint32Array => words.subarray(index * count, (index + 1) * count);
  const start = new Uint32Array(count + 1);
  start.set(column(7));
  start[count] = jsonBytes;
  return {
    count,
    micros,
    keyLow: column(0),
    keyHigh: column(1),
    sumLow: column(2),
    sumHigh: column(3),
    contentLow: column(4),
    contentHigh: column(5),
    name: column(6),
    start,
    json: raw.subarray(jsonAt),
  };
}

/** Nobody may look into the block afterwards. */
export function freeBlock({ micros, name, json }: Block): void {
  // All whole numbers lie in one piece of memory.
  for (const view of [micros, name, json]) freeMemory(view);
}

/** Bytes of a block before compression. */
export function blockBytes(count: number, jsonBytes: number): number {
  return headerBytes + count * wordsPerEvent * 4 + jsonBytes;
}
