import type { PlainMachine } from './machine.ts';

/** A text in the machine's memory. */
export interface Piece {
  readonly from: number;
  readonly bytes: number;
}

/** What stands there is no more than this. */
export class RoomFullError extends Error {
  override name = 'RoomFullError';
}

/** A part of the machine's memory that is taken piece by piece. */
export class MemoryRoom {
  readonly #machine: PlainMachine;
  readonly #from: number;
  readonly #to: number;
  #at: number;

  /** `to`: its end; Infinity: the memory grows. */
  constructor(machine: PlainMachine, from: number, to = Infinity) {
    this.#machine = machine;
    this.#from = from;
    this.#to = to;
    this.#at = from;
  }

  get end(): number {
    return this.#at;
  }

  /** Bytes that are not taken. */
  get left(): number {
    return this.#to - this.#at;
  }

  /** So many bytes at an even place, whatever stands there. Throws RoomFullError. */
  take(bytes: number): number {
    const from = Math.ceil(this.#at / 16) * 16;
    if (from + bytes > this.#to) throw new RoomFullError(`expected room for ${bytes} bytes, got: ${this.left}`);
    if (this.#to === Infinity) this.#machine.grow(from + bytes);
    this.#at = from + bytes;
    return from;
  }

  /** The same, of zeros. */
  takeZeros(bytes: number): number {
    const from = this.take(bytes);
    this.#machine.bytes.fill(0, from, from + bytes);
    return from;
  }

  /** Numbers of 32 bits, one after the other, and room for so many bytes behind them. */
  putWords(numbers: readonly number[], more = 0): number {
    const from = this.take(numbers.length * 4 + more);
    this.setWords(from, numbers);
    return from;
  }

  /** At a place that was taken. */
  setWords(place: number, numbers: readonly number[]): void {
    const { words } = this.#machine;
    for (let at = 0; at < numbers.length; at += 1) words[place / 4 + at] = numbers[at] as number;
  }

  setWord(place: number, index: number, number: number): void {
    this.#machine.words[place / 4 + index] = number;
  }

  setDouble(place: number, value: number): void {
    this.#machine.bytes.writeDoubleLE(value, place);
  }

  putBytes(bytes: Uint8Array): Piece {
    const from = this.take(bytes.length);
    this.#machine.bytes.set(bytes, from);
    return { from, bytes: bytes.length };
  }

  putText(text: string): Piece {
    // A character of UTF-16 has at most three bytes in UTF-8.
    const from = this.take(text.length * 3);
    const bytes = this.#machine.bytes.write(text, from);
    this.#at = from + bytes;
    return { from, bytes };
  }

  /** Everything may be taken again. */
  clear(): void {
    this.#at = this.#from;
  }
}
