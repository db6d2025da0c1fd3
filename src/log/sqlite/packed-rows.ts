import { isMarkedAsUntransferable } from 'node:worker_threads';
import type { NewRow } from './segment.ts';

/** Bodies up to this size are copied together: transferring separate memory to another thread takes longer. */
const packedBytesMax = 16 * 1024;
const gatheredBytesMax = 1024 * 1024;

/** Rows to transfer to another thread. Small bodies are contiguous in one block of memory. */
export interface PackedRows {
  readonly headers: readonly string[];
  readonly events: readonly number[];
  /** A body in separate memory, or its length in `packed`, in order. */
  readonly bodies: readonly (Uint8Array<ArrayBuffer> | number)[];
  readonly packed: ArrayBuffer;
}

/** Collects rows until they are sent. `add` takes ownership of a body: it is copied or transferred immediately. */
export class RowPacker {
  #headers: string[] = [];
  #events: number[] = [];
  #bodies: (Uint8Array<ArrayBuffer> | number)[] = [];
  #gathered = new Uint8Array(4 * packedBytesMax);
  #used = 0;

  get count(): number {
    return this.#headers.length;
  }

  /** @throws TypeError when the body's memory has been transferred before */
  add(header: string, events: number, body: Uint8Array): void {
    if (body.buffer instanceof ArrayBuffer && body.buffer.detached) {
      throw new TypeError('expected a separate body for each append, got one that was appended before');
    }
    this.#bodies.push(this.#pack(body) ? body.byteLength : ownBytes(body));
    this.#headers.push(header);
    this.#events.push(events);
  }

  /** Takes all rows, and the memory to transfer with them. */
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

  /** Returns false when the body is too large to pack. */
  #pack(body: Uint8Array): boolean {
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

/** Returns the given memory if it contains nothing else and can be transferred, otherwise a copy. */
function ownBytes(body: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = body;
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength !== body.byteLength) return new Uint8Array(body);
  return isMarkedAsUntransferable(buffer) ? new Uint8Array(body) : new Uint8Array(buffer.transfer());
}
