import type { ConvertModule } from './convert-module.ts';

export const wordBytes = 4;

/** Bytes in the memory of the module. */
export interface Piece {
  readonly from: number;
  readonly bytes: number;
}

export class ArenaFullError extends Error {
  override name = 'ArenaFullError';
}

/** Allocates from a range of the module's memory; everything is released together. */
export class Arena {
  readonly #module: ConvertModule;
  readonly #from: number;
  readonly #to: number;
  #at: number;

  /** Without `to` the memory grows as needed. */
  constructor(module: ConvertModule, from: number, to = Infinity) {
    this.#module = module;
    this.#from = from;
    this.#to = to;
    this.#at = from;
  }

  /** Bytes that are still free. */
  get left(): number {
    return this.#to - this.#at;
  }

  /** Returns the address of uninitialised memory, a multiple of 16. Throws ArenaFullError. */
  allocate(bytes: number): number {
    const from = Math.ceil(this.#at / 16) * 16;
    if (from + bytes > this.#to) throw new ArenaFullError(`expected ${bytes} free bytes, got: ${this.left}`);
    if (this.#to === Infinity) this.#module.grow(from + bytes);
    this.#at = from + bytes;
    return from;
  }

  allocateZeros(bytes: number): number {
    const from = this.allocate(bytes);
    this.#module.bytes.fill(0, from, from + bytes);
    return from;
  }

  /** Writes 32-bit numbers, followed by `more` free bytes. */
  putWords(numbers: readonly number[], more = 0): number {
    const from = this.allocate(numbers.length * wordBytes + more);
    this.setWords(from, numbers);
    return from;
  }

  setWords(address: number, numbers: readonly number[]): void {
    const { words } = this.#module;
    for (let at = 0; at < numbers.length; at += 1) words[address / wordBytes + at] = numbers[at] as number;
  }

  setWord(address: number, index: number, number: number): void {
    this.#module.words[address / wordBytes + index] = number;
  }

  setDouble(address: number, value: number): void {
    this.#module.bytes.writeDoubleLE(value, address);
  }

  putBytes(bytes: Uint8Array): Piece {
    const from = this.allocate(bytes.length);
    this.#module.bytes.set(bytes, from);
    return { from, bytes: bytes.length };
  }

  putText(text: string): Piece {
    // A UTF-16 unit takes at most three bytes in UTF-8.
    const from = this.allocate(text.length * 3);
    const bytes = this.#module.bytes.write(text, from);
    this.#at = from + bytes;
    return { from, bytes };
  }

  clear(): void {
    this.#at = this.#from;
  }
}

/** Returns the two words that describe a piece. */
export function pieceWords({ from, bytes }: Piece): [number, number] {
  return [from, bytes];
}
