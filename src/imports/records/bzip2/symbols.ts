/** Reads a bzip2 block bit by bit; beyond the end it returns zeros, and `isPastEnd` is true. */
export interface BitReader {
  /** Reads at most 24 bits as a number. */
  read(bits: number): number;
  /** Returns the next 20 bits without consuming them. */
  peek(): number;
  skip(bits: number): void;
  alignToByte(): void;
  isPastEnd(): boolean;
  /** Number of bytes consumed completely. */
  bytesRead(): number;
  /** Number of bits consumed of the next byte. */
  bit(): number;
}

const peekBits = 20;

export function createBitReader(bytes: Buffer, startBit: number): BitReader {
  let at = startBit;
  const wordAt = (byte: number): number =>
    ((bytes[byte] ?? 0) << 24) |
    ((bytes[byte + 1] ?? 0) << 16) |
    ((bytes[byte + 2] ?? 0) << 8) |
    (bytes[byte + 3] ?? 0);
  return {
    read(bits) {
      const value = (wordAt(at >> 3) << (at & 7)) >>> (32 - bits);
      at += bits;
      return value;
    },
    peek: () => (wordAt(at >> 3) << (at & 7)) >>> (32 - peekBits),
    skip: (bits) => void (at += bits),
    alignToByte: () => void (at = (at + 7) & ~7),
    isPastEnd: () => at > bytes.length * 8,
    bytesRead: () => at >> 3,
    bit: () => at & 7,
  };
}

/** The data of a block is not valid bzip2. */
export class Bzip2Damage extends Error {
  override name = 'Bzip2Damage';
}

const codeBitsMax = 20;
const groupSymbols = 50;

/** A Huffman table: codes of one length are consecutive numbers. */
interface HuffmanTable {
  readonly bitsMin: number;
  readonly bitsMax: number;
  /** By length: the greatest code, or -1; and the value to add to a code to find its symbol in `order`. */
  readonly limit: Int32Array;
  readonly base: Int32Array;
  readonly order: Uint16Array;
}

/** Returns a function that reads the symbols of a block. */
export function createSymbolReader(bits: BitReader, alphabet: number): () => number {
  const tableCount = bits.read(3);
  const groupCount = bits.read(15);
  if (tableCount < 2 || tableCount > 6 || groupCount === 0) throw new Bzip2Damage('its tables are damaged');
  const groups = readGroups(bits, tableCount, groupCount);
  const tables = Array.from({ length: tableCount }, () => tableOf(readCodeLengths(bits, alphabet)));
  let group = 0;
  let left = 0;
  let table: HuffmanTable | undefined;
  return () => {
    if (left === 0) {
      table = tables[groups[group] ?? -1];
      group += 1;
      left = groupSymbols;
    }
    left -= 1;
    if (table === undefined) throw new Bzip2Damage('it has more symbols than tables for them');
    return readSymbol(bits, table);
  };
}

function readSymbol(bits: BitReader, { bitsMin, bitsMax, limit, base, order }: HuffmanTable): number {
  const next = bits.peek();
  for (let length = bitsMin; length <= bitsMax; length += 1) {
    const code = next >>> (codeBitsMax - length);
    if (code > (limit[length] ?? -1)) continue;
    bits.skip(length);
    const symbol = order[code + (base[length] ?? 0)];
    if (symbol === undefined) break;
    return symbol;
  }
  throw new Bzip2Damage('it has an undefined code');
}

/** Reads the table of each group of 50 symbols, encoded as positions in a move-to-front list. */
function readGroups(bits: BitReader, tableCount: number, groupCount: number): Uint8Array {
  const recent = Uint8Array.from({ length: tableCount }, (_, index) => index);
  const groups = new Uint8Array(groupCount);
  for (let index = 0; index < groupCount; index += 1) {
    let place = 0;
    while (bits.read(1) === 1) {
      place += 1;
      if (place >= tableCount) throw new Bzip2Damage('it refers to a missing table');
    }
    groups[index] = moveToFront(recent, place);
  }
  return groups;
}

export function moveToFront(recent: Uint8Array, place: number): number {
  const value = recent[place] ?? 0;
  recent.copyWithin(1, 0, place);
  recent[0] = value;
  return value;
}

function readCodeLengths(bits: BitReader, alphabet: number): Uint8Array {
  const lengths = new Uint8Array(alphabet);
  let length = bits.read(5);
  for (let symbol = 0; symbol < alphabet; symbol += 1) {
    for (;;) {
      if (length < 1 || length > codeBitsMax) throw new Bzip2Damage('it has a code of invalid length');
      if (bits.read(1) === 0) break;
      length += bits.read(1) === 0 ? 1 : -1;
    }
    lengths[symbol] = length;
  }
  return lengths;
}

function tableOf(lengths: Uint8Array): HuffmanTable {
  const symbols = Array.from(lengths.keys()).toSorted((a, b) => (lengths[a] ?? 0) - (lengths[b] ?? 0) || a - b);
  const order = Uint16Array.from(symbols);
  const limit = new Int32Array(codeBitsMax + 1).fill(-1);
  const base = new Int32Array(codeBitsMax + 1);
  let code = 0;
  let place = 0;
  for (let length = 1; length <= codeBitsMax; length += 1) {
    const first = place;
    while (place < order.length && lengths[order[place] ?? 0] === length) place += 1;
    base[length] = first - code;
    if (place > first) limit[length] = code + place - first - 1;
    code = (code + place - first) << 1;
  }
  return { bitsMin: Math.min(...lengths), bitsMax: Math.max(...lengths), limit, base, order };
}
