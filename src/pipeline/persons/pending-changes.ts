import { parseExact } from '../../base/exact-json.ts';
import type { JsonObject } from '../../base/json.ts';
import { applyChanges, noChanges, unsetNames, type PropertyChanges, type Registers } from './registers.ts';
import { haveSameKeys } from '../../base/same-keys.ts';

/** Property operation of an event. */
export type PropertyOp = 'setOnce' | 'set' | 'unset';

/** A property operation with its value as received. */
interface Pending {
  readonly op: PropertyOp;
  /** Time of the event, µs. */
  t: number;
  json: Uint8Array;
  from: number;
  to: number;
}

/** Above this number of different operations it does not pay to keep them separate. */
const pendingMax = 16;
const pieceBytes = 1024 * 1024;
const piecesKept = 8;

/** Memory for bytes that must outlive their request body, until `clear`. */
export class KeptBytes {
  #pieces: Buffer[] = [];
  #piece = -1;
  #used = pieceBytes;

  /** Reserves memory for `size` bytes. */
  reserve(size: number): { readonly json: Buffer; readonly from: number } {
    if (size > pieceBytes) return { json: Buffer.allocUnsafeSlow(size), from: 0 };
    if (this.#used + size > pieceBytes) {
      this.#piece += 1;
      this.#used = 0;
    }
    const json = (this.#pieces[this.#piece] ??= Buffer.allocUnsafeSlow(pieceBytes));
    const from = this.#used;
    this.#used += size;
    return { json, from };
  }

  /** Releases all bytes. */
  clear(): void {
    this.#pieces = this.#pieces.slice(0, piecesKept);
    this.#piece = -1;
    this.#used = pieceBytes;
  }
}

/**
 * Property operations of one window on one person, in order, not parsed before they are needed. Of several operations on the same keys
 * only the effective one is kept: most persons repeat the same properties.
 */
export class PendingChanges {
  #list: Pending[] = [];

  get isFull(): boolean {
    return this.#list.length >= pendingMax;
  }

  /** Adds an operation in the order of arrival. `json` at [from, to) is an object, or a list for `unset`. */
  add(kept: KeptBytes, op: PropertyOp, t: number, json: Buffer, from: number, to: number): void {
    const known = op === 'unset' ? undefined : this.#withSameKeys(op, json, from, to);
    if (known !== undefined) {
      if (op === 'set' ? t < known.t : t >= known.t) return;
      if (!this.#isTiedAfter(known, t)) {
        const place = to - from <= known.to - known.from ? known : kept.reserve(to - from);
        copy(known, place.json, place.from, t, json, from, to);
        return;
      }
    }
    const place = kept.reserve(to - from);
    const added: Pending = { op, t, json: place.json, from: place.from, to: place.from };
    copy(added, place.json, place.from, t, json, from, to);
    this.#list.push(added);
  }

  /** Applies all operations to the registers, in order. Returns whether a register changed. */
  applyTo(registers: Registers): boolean {
    let changed = false;
    for (const { op, t, json, from, to } of this.#list) {
      const text = (json as Buffer).toString('utf8', from, to);
      if (applyChanges(registers, changesOf(op, text), t)) changed = true;
    }
    return changed;
  }

  /** Returns the last operation of the same kind on the same keys. */
  #withSameKeys(op: PropertyOp, json: Buffer, from: number, to: number): Pending | undefined {
    const span = { json, from, to };
    return this.#list.findLast((known) => known.op === op && haveSameKeys(known, span));
  }

  /** Whether an operation after `known` has this time. The order of arrival then decides, so `known` must not be replaced. */
  #isTiedAfter(known: Pending, t: number): boolean {
    for (let at = this.#list.length - 1; this.#list[at] !== known; at--) if (this.#list[at]?.t === t) return true;
    return false;
  }
}

function copy(into: Pending, place: Uint8Array, at: number, t: number, json: Buffer, from: number, to: number): void {
  json.copy(place, at, from, to);
  into.json = place;
  into.from = at;
  into.to = at + to - from;
  into.t = t;
}

function changesOf(op: PropertyOp, text: string): PropertyChanges {
  const value = parseExact(text);
  if (op === 'unset') return { ...noChanges, unset: unsetNames(value) };
  // Sound: the byte at `from` opens an object.
  return { ...noChanges, [op]: value as JsonObject };
}
