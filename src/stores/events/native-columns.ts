/**
 * Growing columns in the layout of ClickHouse's Native format. A column passes on its whole memory, so that nothing is copied between
 * encoding and writing to the engine.
 */

const varintBytesMax = 5;
/** Below this a byte loop beats a call into native code. */
const shortCopyMax = 48;

/** Contiguous little-endian values of fixed width. `reserve` allocates memory; setters do not check bounds. */
export class FixedColumn {
  readonly #width: number;
  #bytes: Uint8Array<ArrayBuffer>;
  #view: DataView;

  constructor(width: number, capacity: number) {
    this.#width = width;
    this.#bytes = fresh(width * capacity);
    this.#view = viewOf(this.#bytes);
  }

  /** Allocates memory for `capacity` values; keeps those before `kept`. */
  reserve(capacity: number, kept: number): void {
    const grown = fresh(capacity * this.#width);
    grown.set(this.#bytes.subarray(0, kept * this.#width));
    this.#bytes = grown;
    this.#view = viewOf(grown);
  }

  setUint8(row: number, value: number): void {
    this.#view.setUint8(row, value);
  }

  setInt32(row: number, value: number): void {
    this.#view.setInt32(row * 4, value, true);
  }

  /** Exact for every integer that a double can represent. */
  setInt64(row: number, value: number): void {
    const high = Math.floor(value / 4_294_967_296);
    const view = this.#view;
    view.setUint32(row * 8, value - high * 4_294_967_296, true);
    view.setInt32(row * 8 + 4, high, true);
  }

  /** Copies encoded values. */
  setBytes(row: number, values: Uint8Array): void {
    this.#bytes.set(values, row * this.#width);
  }

  /** Sets a range of rows to one value. */
  fill(from: number, to: number, value: number): void {
    for (let row = from; row < to; row++) this.setInt32(row, value);
  }

  /** Takes four 32-bit words in the order of the UUID's text: the engine stores two little-endian halves. */
  setUuid(row: number, a: number, b: number, c: number, d: number): void {
    const view = this.#view;
    const at = row * 16;
    view.setInt32(at, b, true);
    view.setInt32(at + 4, a, true);
    view.setInt32(at + 8, d, true);
    view.setInt32(at + 12, c, true);
  }

  bytes(rows: number): Uint8Array {
    return this.#bytes.subarray(0, rows * this.#width);
  }
}

/** Strings: LEB128 length in bytes, then UTF-8. */
export class TextColumn {
  #bytes: Buffer<ArrayBuffer>;
  #at = 0;

  constructor(capacity: number) {
    this.#bytes = Buffer.from(fresh(capacity).buffer);
  }

  get size(): number {
    return this.#at;
  }

  clear(): void {
    this.#at = 0;
  }

  addText(text: string): void {
    const byteLength = Buffer.byteLength(text);
    this.#begin(byteLength);
    this.#at += this.#bytes.write(text, this.#at, byteLength, 'utf8');
  }

  /** Adds the bytes [start, end) of `from`. */
  addBytes(from: Buffer, start: number, end: number): void {
    this.#begin(end - start);
    this.#copy(from, start, end);
  }

  /** Adds encoded values, with their lengths. */
  addValues(values: Uint8Array): void {
    if (this.#at + values.length > this.#bytes.length) this.#grow(values.length);
    this.#bytes.set(values, this.#at);
    this.#at += values.length;
  }

  /** Adds the same text several times. */
  addRepeated(text: string, times: number): void {
    const from = this.#at;
    this.addText(text);
    const bytes = this.#at - from;
    const total = bytes * times;
    if (from + total > this.#bytes.length) this.#grow(total);
    for (let filled = bytes; filled < total; filled *= 2) {
      this.#bytes.copyWithin(from + filled, from, from + Math.min(filled, total - filled));
    }
    this.#at = from + total;
  }

  /** Adds one value that consists of these pieces. */
  addPieces(pieces: readonly Uint8Array[]): void {
    let byteLength = 0;
    for (const piece of pieces) byteLength += piece.length;
    this.#begin(byteLength);
    for (const piece of pieces) {
      this.#bytes.set(piece, this.#at);
      this.#at += piece.length;
    }
  }

  /** Adds the first byte of the range, the prefix, and the rest of the range. */
  addWithPrefix(from: Buffer, start: number, end: number, prefix: Uint8Array): void {
    this.#begin(end - start + prefix.length);
    this.#bytes[this.#at++] = from[start] ?? 0;
    this.#bytes.set(prefix, this.#at);
    this.#at += prefix.length;
    this.#copy(from, start + 1, end);
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#at);
  }

  #begin(byteLength: number): void {
    if (this.#at + varintBytesMax + byteLength > this.#bytes.length) this.#grow(varintBytesMax + byteLength);
    const bytes = this.#bytes;
    let at = this.#at;
    let rest = byteLength;
    while (rest > 0x7f) {
      bytes[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    bytes[at++] = rest;
    this.#at = at;
  }

  #copy(from: Buffer, start: number, end: number): void {
    const bytes = this.#bytes;
    const at = this.#at;
    const length = end - start;
    if (length <= shortCopyMax) {
      for (let i = 0; i < length; i++) bytes[at + i] = from[start + i] as number;
    } else {
      from.copy(bytes, at, start, end);
    }
    this.#at = at + length;
  }

  #grow(more: number): void {
    const grown = Buffer.from(fresh(Math.max(this.#at + more, this.#bytes.length * 2)).buffer);
    this.#bytes.copy(grown, 0, 0, this.#at);
    this.#bytes = grown;
  }
}

/** Allocates memory that is neither zeroed nor from a shared pool. */
function fresh(size: number): Uint8Array<ArrayBuffer> {
  return Buffer.allocUnsafeSlow(size);
}

function viewOf(bytes: Uint8Array<ArrayBuffer>): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Returns where the bytes of a value in a text column begin and end. */
export function textAt(column: Uint8Array, at: number): { readonly from: number; readonly to: number } {
  let length = 0;
  let from = at;
  for (let shift = 0; ; shift += 7) {
    const byte = column[from++] as number;
    length += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return { from, to: from + length };
  }
}

/** Returns the numbers of columns and rows that precede the first column of a block. */
export function blockHead(columns: number, rows: number): Uint8Array {
  return Buffer.from([...varint(columns), ...varint(rows)]);
}

export function columnHead(name: string, type: string): Uint8Array {
  return Buffer.concat([name, type].flatMap((text) => [Buffer.from(varint(text.length)), Buffer.from(text)]));
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80);
  return [...bytes, rest];
}
