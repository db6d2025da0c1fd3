import { constants, crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { freeMemory } from '../../../base/free-memory.ts';
import { boundOf } from './compress.ts';
import { inOnePiece } from './in-one-piece.ts';

/**
 * A block: some events of one day in the order of their time, as what merging needs of them beside their JSON, so that
 * nothing is parsed again. A header, columns of numbers as they are (most are hashes, which nothing makes smaller), then the JSON of
 * all events, each with its \n, as a frame of zstd.
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
  /** JSON with its \n, in `source`, which stays as it is until the block is finished, or `copy` was called. */
  add(event: BlockEvent, source: Buffer, from: number, to: number): void;
  /** Copies what has only been looked at so far: the sources may go. */
  copy(): void;
  /** The compressed block; the writer is empty again. */
  finish(): Buffer;
}

const eventsMax = 4096;
const wordsPerEvent = 10;
/** Events, bytes of JSON, bytes of its frame, CRC-32 of all but itself. */
const headerBytes = 16;
const crcAt = 12;
/**
 * For what is read once and thrown away: steps over more of the text than level 1, and is a third faster for it, in both directions;
 * files become half as large again. Columns and JSON have a checksum of their own.
 */
const params = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_targetLength]: 4,
  [constants.ZSTD_c_minMatch]: 7,
  [constants.ZSTD_c_hashLog]: 12,
};

/** `jsonBytesMax`: what a block aims at; one event alone may be larger. */
export function createBlockWriter(jsonBytesMax: number): BlockWriter {
  const micros = new Float64Array(eventsMax);
  const words = new Uint32Array(eventsMax * (wordsPerEvent - 2));
  const json = createJsonSpans(jsonBytesMax);
  let count = 0;
  return {
    get count() {
      return count;
    },
    get jsonBytes() {
      return json.bytes;
    },
    isFullFor: (bytes) => count === eventsMax || (count > 0 && json.bytes + bytes > jsonBytesMax),
    add: (event, source, from, to) => {
      micros[count] = event.micros;
      words[count] = event.keyLow;
      words[eventsMax + count] = event.keyHigh;
      words[2 * eventsMax + count] = event.sumLow;
      words[3 * eventsMax + count] = event.sumHigh;
      words[4 * eventsMax + count] = event.contentLow;
      words[5 * eventsMax + count] = event.contentHigh;
      words[6 * eventsMax + count] = event.name;
      words[7 * eventsMax + count] = json.bytes;
      json.add(source, from, to);
      count += 1;
    },
    copy: () => json.copy(),
    finish: () => {
      const jsonBytes = json.bytes;
      const packed = zstdCompressSync(json.take(), { chunkSize: boundOf(jsonBytes), params });
      const jsonAt = headerBytes + count * wordsPerEvent * 4;
      const block = Buffer.allocUnsafeSlow(jsonAt + packed.length);
      let at = headerBytes + copyColumn(micros, 0, count, block, headerBytes);
      for (let column = 0; column < wordsPerEvent - 2; column += 1) {
        at += copyColumn(words, column * eventsMax, count, block, at);
      }
      packed.copy(block, at);
      freeMemory(packed);
      block.writeUInt32LE(count, 0);
      block.writeUInt32LE(jsonBytes, 4);
      block.writeUInt32LE(block.length - jsonAt, 8);
      block.writeUInt32LE(checksumOf(block), crcAt);
      count = 0;
      return block;
    },
  };
}

/** The JSON of a block. What lies side by side in one source is not copied. */
interface JsonSpans {
  readonly bytes: number;
  add(source: Buffer, from: number, to: number): void;
  copy(): void;
  /** All of it; it is empty again. What is given is there until the next `add`. */
  take(): Buffer;
}

function createJsonSpans(bytesMax: number): JsonSpans {
  let own: Buffer | undefined;
  let copied = 0;
  /** Not copied yet. */
  let source: Buffer | undefined;
  let from = 0;
  let to = 0;
  const copy = (): void => {
    const size = to - from;
    if (source === undefined || size === 0) return;
    if (own === undefined || copied + size > own.length) own = Buffer.allocUnsafeSlow(Math.max(bytesMax, size));
    source.copy(own, copied, from, to);
    copied += size;
    from = to;
  };
  return {
    get bytes() {
      return copied + to - from;
    },
    add: (given, start, end) => {
      if (given !== source || start !== to) {
        copy();
        source = given;
        from = start;
      }
      to = end;
    },
    copy,
    take: () => {
      if (copied > 0) copy();
      const all = copied > 0 ? own?.subarray(0, copied) : source?.subarray(from, to);
      source = undefined;
      copied = from = to = 0;
      if (own !== undefined && own.length > bytesMax) own = undefined;
      return all ?? Buffer.alloc(0);
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

/** Throws when the bytes are no block. `rawBytes`: what they unpack to. */
export function readBlock(bytes: Buffer, rawBytes: number): Block {
  const [count = 0, jsonBytes = 0, packedBytes = 0] = bytes.length < headerBytes ? [] : headerOf(bytes);
  const isWhole = bytes.length === headerBytes + count * wordsPerEvent * 4 + packedBytes;
  if (!isWhole || rawBytes !== blockBytes(count, jsonBytes) || bytes.readUInt32LE(crcAt) !== checksumOf(bytes)) {
    throw new Error(`expected a block of ${rawBytes} bytes, got: ${count} events and ${jsonBytes} bytes of JSON`);
  }
  const wordsAt = headerBytes + count * 8;
  const jsonAt = wordsAt + count * (wordsPerEvent - 2) * 4;
  const json = zstdDecompressSync(bytes.subarray(jsonAt), inOnePiece(jsonBytes));
  if (json.length !== jsonBytes) throw new Error(`expected ${jsonBytes} bytes of JSON, got: ${json.length}`);
  // Copied, because numbers have to lie at even places.
  const columns = new ArrayBuffer(jsonAt - headerBytes + 4);
  new Uint8Array(columns).set(bytes.subarray(headerBytes, jsonAt));
  const micros = new Float64Array(columns, 0, count);
  const column = (index: number, more = 0): Uint32Array =>
    new Uint32Array(columns, wordsAt - headerBytes + index * count * 4, count + more);
  // The last column, and its end.
  const start = column(wordsPerEvent - 3, 1);
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
    json,
  };
}

function headerOf(block: Buffer): number[] {
  return [0, 4, 8].map((at) => block.readUInt32LE(at));
}

function checksumOf(block: Buffer): number {
  return crc32(block.subarray(headerBytes), crc32(block.subarray(0, crcAt)));
}

/** Nobody may look into the block afterwards. */
export function freeBlock({ micros, json }: Block): void {
  // All columns lie in one piece of memory; one alone may be too small to be worth it.
  freeMemory(new Uint8Array(micros.buffer));
  freeMemory(json);
}

/** Bytes of a block before compression. */
export function blockBytes(count: number, jsonBytes: number): number {
  return headerBytes + count * wordsPerEvent * 4 + jsonBytes;
}
