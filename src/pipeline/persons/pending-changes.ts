import { parseExact } from '../../base/exact-json.ts';
import type { JsonObject } from '../../base/json.ts';
import { applyChanges, noChanges, unsetNames, type PropertyChanges, type Registers } from './registers.ts';
import { haveSameKeys } from '../../base/same-keys.ts';

/** What an event may say of its person. */
export type Saying = 'setOnce' | 'set' | 'unset';

/** One of them, as the bytes that came. */
interface Pending {
  readonly saying: Saying;
  /** Time of the event, µs. */
  t: number;
  json: Uint8Array;
  from: number;
  to: number;
}

/** More differing ones than this are not worth keeping apart. */
const pendingMax = 16;
const pieceBytes = 1024 * 1024;
const piecesKept = 8;

/** Memory for bytes that have to outlive the body they came in: until `clear`. */
export class KeptBytes {
  #pieces: Buffer[] = [];
  #piece = -1;
  #used = pieceBytes;

  /** Room for so many bytes. */
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

  /** Nobody looks at any of them any more. */
  clear(): void {
    this.#pieces = this.#pieces.slice(0, piecesKept);
    this.#piece = -1;
    this.#used = pieceBytes;
  }
}

/**
 * What the events of a window say of one person, in their order, not looked into before somebody has to know. Of several that say
 * something of the same keys the one that stands is kept alone: most people say the same of themselves again and again.
 */
export class PendingChanges {
  #list: Pending[] = [];

  get isFull(): boolean {
    return this.#list.length >= pendingMax;
  }

  /** One more, in the order of arrival. `json` at [from, to) is an object, or a list where that is possible. */
  add(kept: KeptBytes, saying: Saying, t: number, json: Buffer, from: number, to: number): void {
    const known = saying === 'unset' ? undefined : this.#alike(saying, json, from, to);
    if (known !== undefined) {
      if (saying === 'set' ? t < known.t : t >= known.t) return;
      if (!this.#isTiedAfter(known, t)) {
        const place = to - from <= known.to - known.from ? known : kept.reserve(to - from);
        copy(known, place.json, place.from, t, json, from, to);
        return;
      }
    }
    const place = kept.reserve(to - from);
    const added: Pending = { saying, t, json: place.json, from: place.from, to: place.from };
    copy(added, place.json, place.from, t, json, from, to);
    this.#list.push(added);
  }

  /** Does all of it to the registers, in order. Returns whether one changed. */
  applyTo(registers: Registers): boolean {
    let changed = false;
    for (const { saying, t, json, from, to } of this.#list) {
      const text = (json as Buffer).toString('utf8', from, to);
      if (applyChanges(registers, changesOf(saying, text), t)) changed = true;
    }
    return changed;
  }

  /** The last one that says something of the same keys. */
  #alike(saying: Saying, json: Buffer, from: number, to: number): Pending | undefined {
    const span = { json, from, to };
    return this.#list.findLast((known) => known.saying === saying && haveSameKeys(known, span));
  }

  /** Of equal times the order of arrival decides: whether one that came after `known` has this time, so that none may take its place. */
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

function changesOf(saying: Saying, text: string): PropertyChanges {
  const value = parseExact(text);
  if (saying === 'unset') return { ...noChanges, unset: unsetNames(value) };
  // Sound: the byte at `from` opens an object.
  return { ...noChanges, [saying]: value as JsonObject };
}
