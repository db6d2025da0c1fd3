import { SourceWaitError } from '../../source.ts';
import { readExactly, type ExactReader } from '../read-exactly.ts';
import { takeTurns } from '../decompress.ts';
import { createBitReader, type BitReader, Bzip2Damage, createSymbolReader, moveToFront } from './symbols.ts';

/** More than the largest possible block: 900,000 symbols of 20 bits and its tables. */
const blockBytesMax = 2_400_000;
const blockMark = [0x314159, 0x265359] as const;
const endMark = [0x177245, 0x385090] as const;

/**
 * Decompresses a bzip2 file of any number of streams, block by block, and verifies their checksums. This is our own decoder: a
 * block takes at most 46 MB whatever the file contains, and no input can make the decoder loop.
 * @throws SourceWaitError if it is damaged or ends early: the transfer may have been cut off
 */
export function unbzip2Chunks(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  return takeTurns(decodeFile(chunks, name));
}

async function* decodeFile(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const source = chunks[Symbol.asyncIterator]();
  const window = createWindow(readExactly(source));
  try {
    while (!(await window.isAtEnd())) yield* decodeStream(window);
  } catch (error) {
    if (!(error instanceof Bzip2Damage)) throw error;
    throw new SourceWaitError(
      `the bzip2 data of ${name} at byte ${window.bytesRead()} cannot be read: ${error.message}; fetch or export the file again`,
      { unlimited: false, cause: error },
    );
  } finally {
    await source.return?.();
  }
}

async function* decodeStream(window: Window): AsyncGenerator<Buffer> {
  const start = await window.open();
  const [magic, level] = [start.read(24), start.read(8) - 0x30];
  if (magic !== 0x425a68 || level < 1 || level > 9) throw new Bzip2Damage('expected the beginning of a stream');
  window.close(start);
  for (let combined = 0; ;) {
    const bits = await window.open();
    const mark = [bits.read(24), bits.read(24)];
    const expected = (bits.read(16) << 16) | bits.read(16);
    if (isSame(mark, endMark)) {
      if (expected !== combined) throw new Bzip2Damage('the checksum of the stream differs');
      bits.alignToByte();
      return window.close(bits);
    }
    if (!isSame(mark, blockMark)) throw new Bzip2Damage(bits.isPastEnd() ? endsEarly : 'expected a block');
    yield* decodeBlock(bits, level, expected);
    combined = ((combined << 1) | (combined >>> 31)) ^ expected;
    window.close(bits);
  }
}

const endsEarly = 'it ends too early';

function* decodeBlock(bits: BitReader, level: number, expected: number): Generator<Buffer> {
  let sum = -1;
  try {
    for (const piece of readBlock(bits, level * 100_000)) {
      sum = addToChecksum(sum, piece);
      yield piece;
    }
  } catch (error) {
    // Zeros follow the end, which are damage of some kind.
    throw error instanceof Bzip2Damage && bits.isPastEnd() ? new Bzip2Damage(endsEarly, { cause: error }) : error;
  }
  if (bits.isPastEnd()) throw new Bzip2Damage(endsEarly);
  if (~sum !== expected) throw new Bzip2Damage('the checksum of a block differs');
}

function isSame(mark: readonly number[], other: readonly number[]): boolean {
  return mark.every((part, index) => part === other[index]);
}

/** A window of the file that contains a whole block; blocks begin in the middle of bytes. */
interface Window {
  open(): Promise<BitReader>;
  /** Throws Bzip2Damage if more was read than available. */
  close(bits: BitReader): void;
  isAtEnd(): Promise<boolean>;
  /** Number of bytes of the file. */
  bytesRead(): number;
}

function createWindow(reader: ExactReader): Window {
  let bytes: Buffer = Buffer.alloc(0);
  let bit = 0;
  let before = 0;
  const fill = async (): Promise<void> => {
    if (bytes.length < blockBytesMax) bytes = Buffer.concat([bytes, await reader.take(blockBytesMax - bytes.length)]);
  };
  return {
    async open() {
      await fill();
      return createBitReader(bytes, bit);
    },
    close(bits) {
      if (bits.isPastEnd()) throw new Bzip2Damage(endsEarly);
      const read = bits.bytesRead();
      bit = bits.bit();
      bytes = bytes.subarray(read);
      before += read;
    },
    async isAtEnd() {
      await fill();
      return bytes.length === 0;
    },
    bytesRead: () => before,
  };
}

const outputBytes = 256 * 1024;

/**
 * Yields the contents of one block after its mark and checksum, in pieces.
 * @param sizeMax bytes before run-length decoding; a block of 900,000 can become 46 MB
 * @throws Bzip2Damage for an invalid block; output already yielded is then invalid
 */
function* readBlock(bits: BitReader, sizeMax: number): Generator<Buffer> {
  if (bits.read(1) === 1) throw new Bzip2Damage('it is of a version before 1.0');
  const origin = bits.read(24);
  const bytes = readAlphabet(bits);
  const { cells, counts } = readCells(bits, bytes, sizeMax);
  if (origin >= cells.length) throw new Bzip2Damage('its origin is out of range');
  linkCells(cells, counts);
  yield* undoRuns(cells, origin);
}

/** Returns the bytes that occur in the block. */
function readAlphabet(bits: BitReader): Uint8Array {
  const ranges = bits.read(16);
  const found: number[] = [];
  for (let range = 0; range < 16; range += 1) {
    if ((ranges & (0x8000 >> range)) === 0) continue;
    const members = bits.read(16);
    for (let index = 0; index < 16; index += 1) if ((members & (0x8000 >> index)) !== 0) found.push(range * 16 + index);
  }
  if (found.length === 0) throw new Bzip2Damage('it has no bytes');
  return Uint8Array.from(found);
}

/** Returns the bytes in the order of the sorted block, one per cell, and the count of each byte. */
function readCells(
  bits: BitReader,
  recent: Uint8Array,
  sizeMax: number,
): { readonly cells: Uint32Array; readonly counts: Uint32Array } {
  const end = recent.length + 1;
  const next = createSymbolReader(bits, recent.length + 2);
  const cells = new Uint32Array(sizeMax);
  const counts = new Uint32Array(256);
  let size = 0;
  const add = (byte: number, times: number): void => {
    if (size + times > sizeMax) throw new Bzip2Damage('it exceeds its maximum size');
    cells.fill(byte, size, size + times);
    counts[byte] = (counts[byte] ?? 0) + times;
    size += times;
  };
  let weight = 1;
  let run = 0;
  for (let symbol = next(); symbol !== end; symbol = next()) {
    if (symbol <= 1) {
      // The length of a run, as a number with the digits 1 and 2.
      run += weight << symbol;
      weight <<= 1;
      if (run > sizeMax) throw new Bzip2Damage('it exceeds its maximum size');
      continue;
    }
    if (run > 0) add(recent[0] ?? 0, run);
    run = 0;
    weight = 1;
    add(moveToFront(recent, symbol - 1), 1);
  }
  if (run > 0) add(recent[0] ?? 0, run);
  return { cells: cells.subarray(0, size), counts };
}

/** Stores the index of the next cell above the byte of each cell. */
function linkCells(cells: Uint32Array, counts: Uint32Array): void {
  const places = new Uint32Array(256);
  for (let byte = 1; byte < 256; byte += 1) places[byte] = (places[byte - 1] ?? 0) + (counts[byte - 1] ?? 0);
  for (let index = 0; index < cells.length; index += 1) {
    const byte = (cells[index] ?? 0) & 0xff;
    const place = places[byte] ?? 0;
    places[byte] = place + 1;
    cells[place] = ((cells[place] ?? 0) | (index << 8)) >>> 0;
  }
}

/** Four equal bytes are followed by the number of further ones. */
function* undoRuns(cells: Uint32Array, origin: number): Generator<Buffer> {
  let output = Buffer.allocUnsafe(outputBytes);
  let length = 0;
  let cell = (cells[origin] ?? 0) >>> 8;
  let last = -1;
  let equal = 0;
  for (let left = cells.length; left > 0; left -= 1) {
    const entry = cells[cell] ?? 0;
    const byte = entry & 0xff;
    cell = entry >>> 8;
    if (length + 255 > outputBytes) {
      yield output.subarray(0, length);
      output = Buffer.allocUnsafe(outputBytes);
      length = 0;
    }
    if (equal === 4) {
      output.fill(last, length, length + byte);
      length += byte;
      equal = 0;
      last = -1;
      continue;
    }
    equal = byte === last ? equal + 1 : 1;
    last = byte;
    output[length] = byte;
    length += 1;
  }
  yield output.subarray(0, length);
}

/** CRC-32 of bzip2, in the opposite bit order to zlib's. */
const table = Int32Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 24;
  for (let bit = 0; bit < 8; bit += 1) value = value < 0 ? (value << 1) ^ 0x04c11db7 : value << 1;
  return value;
});

/** @param sum of the bytes before; -1 at the beginning; the complement of the final sum is the checksum */
export function addToChecksum(sum: number, bytes: Buffer): number {
  let value = sum;
  for (let index = 0; index < bytes.length; index += 1) {
    value = (value << 8) ^ (table[((value >>> 24) ^ (bytes[index] ?? 0)) & 0xff] ?? 0);
  }
  return value;
}
