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

  /** Numbers of 32 bits, one after the other. */
  putWords(numbers: readonly number[], more = 0): number {
    const from = this.take(numbers.length * 4 + more);
    this.#machine.words.set(numbers, from / 4);
    return from;
  }

  putBytes(bytes: Uint8Array): Piece {
    const from = this.take(bytes.length);
    this.#machine.bytes.set(bytes, from);
    return { from, bytes: bytes.length };
  }

  putText(text: string): Piece {
    return this.putBytes(Buffer.from(text));
  }

  /** Everything may be taken again. */
  clear(): void {
    this.#at = this.#from;
  }
}
