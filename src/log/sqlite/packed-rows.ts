import { isMarkedAsUntransferable } from 'node:worker_threads';
import type { NewRow } from './segment.ts';

/** Up to here a body is copied among others: to move memory of its own to another thread takes longer. */
const packedBytesMax = 16 * 1024;
const gatheredBytesMax = 1024 * 1024;

/** Rows on their way to another thread. The small bodies lie one after the other in one piece of memory. */
export interface PackedRows {
  readonly headers: readonly string[];
  readonly events: readonly number[];
  /** A body with memory of its own, or how many bytes of `packed` are the body, in order. */
  readonly bodies: readonly (Uint8Array<ArrayBuffer> | number)[];
  readonly packed: ArrayBuffer;
}

/** Gathers rows until they are sent. A body belongs to it from `add` on: it is copied or moved there and then. */
export class RowPacker {
  #headers: string[] = [];
  #events: number[] = [];
  #bodies: (Uint8Array<ArrayBuffer> | number)[] = [];
  #gathered = new Uint8Array(4 * packedBytesMax);
  #used = 0;

  get count(): number {
    return this.#headers.length;
  }

  /** @throws TypeError when the body's memory has moved elsewhere */
  add(header: string, events: number, body: Uint8Array): void {
    if (body.buffer instanceof ArrayBuffer && body.buffer.detached) {
      throw new TypeError('expected a body of its own for each append, got one that was appended before');
    }
    this.#bodies.push(this.#gather(body) ? body.byteLength : ownBytes(body));
    this.#headers.push(header);
    this.#events.push(events);
  }

  /** All rows so far, and the memory that moves with them. */
  take(): { readonly rows: PackedRows; readonly transfer: readonly ArrayBuffer[] } {
    const packed = this.#gathered.slice(0, this.#used).buffer;
    const rows = { headers: this.#headers, events: this.#events, bodies: this.#bodies, packed };
    const own = this.#bodies.flatMap((body) => (typeof body === 'number' ? [] : [body.buffer]));
    this.#headers = [];
    this.#events = [];
    this.#bodies = [];
    this.#used = 0;
    return { rows, transfer: [packed, ...own] };
  }

  /** False when the body is too large to lie among others. */
  #gather(body: Uint8Array): boolean {
    const end = this.#used + body.byteLength;
    if (body.byteLength > packedBytesMax || end > gatheredBytesMax) return false;
    if (end > this.#gathered.byteLength) {
      const larger = new Uint8Array(2 * this.#gathered.byteLength);
      larger.set(this.#gathered);
      this.#gathered = larger;
    }
    this.#gathered.set(body, this.#used);
    this.#used = end;
    return true;
  }
}

export function unpackRows({ headers, events, bodies, packed }: PackedRows): NewRow[] {
  let from = 0;
  return headers.map((header, index) => {
    const given = bodies[index] ?? 0;
    if (typeof given !== 'number') return { header, events: events[index] ?? 0, body: given };
    const body = new Uint8Array(packed, from, given);
    from += given;
    return { header, events: events[index] ?? 0, body };
  });
}

/** The given memory when nobody else's data lies in it and it can be moved, else a copy. */
function ownBytes(body: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = body;
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength !== body.byteLength) return new Uint8Array(body);
  return isMarkedAsUntransferable(buffer) ? new Uint8Array(body) : new Uint8Array(buffer.transfer());
}
