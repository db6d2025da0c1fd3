import type { BitReader } from './bit-reader.ts';
import { Bzip2Damage, createSymbolReader, moveToFront } from './symbols.ts';

const outputBytes = 256 * 1024;

/**
 * One block behind its mark and its checksum: what it holds, in pieces.
 * @param sizeMax bytes before the first step of packing is undone; a block of 900,000 can become 46 MB
 * @throws Bzip2Damage for what is no block. What was given before is then worth nothing
 */
export function* readBlock(bits: BitReader, sizeMax: number): Generator<Buffer> {
  if (bits.read(1) === 1) throw new Bzip2Damage('it is of a version before 1.0');
  const origin = bits.read(24);
  const bytes = readAlphabet(bits);
  const { cells, counts } = readCells(bits, bytes, sizeMax);
  if (origin >= cells.length) throw new Bzip2Damage('its beginning lies outside of it');
  linkCells(cells, counts);
  yield* undoRuns(cells, origin);
}

/** The bytes that there are in the block. */
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

/** The bytes in the order of the sorted block, one a cell, and how many there are of each. */
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
    if (size + times > sizeMax) throw new Bzip2Damage('it holds more than it may');
    cells.fill(byte, size, size + times);
    counts[byte] = (counts[byte] ?? 0) + times;
    size += times;
  };
  let weight = 1;
  let run = 0;
  for (let symbol = next(); symbol !== end; symbol = next()) {
    if (symbol <= 1) {
      // The length of a run, as a number whose digits are 1 and 2.
      run += weight << symbol;
      weight <<= 1;
      if (run > sizeMax) throw new Bzip2Damage('it holds more than it may');
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

/** Above its byte each cell gets the place of the one that follows it. */
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

/** Behind four equal bytes stands how many more of them there are. */
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
