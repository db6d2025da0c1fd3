import { dayMicros } from '../../../../wire/batch/timestamps.ts';
import { textAt } from '../../../../stores/events/native-columns.ts';
import type { EventRowWriter } from '../../../../stores/events/rows.ts';
import { runMark } from '../../../checksum.ts';
import { personEffect, rowWords as word, wordsPerRow, type ConvertedRows } from './converted-rows.ts';

/**
 * Reduces rows of the converter to facts, as facts.ts does for events that are objects: of the events of an id with the same effect, only
 * the decisive one is kept. A claim is such an event with the reason for keeping it. Claims are in typed arrays; their texts stay in the
 * columns of the rows.
 */
export interface ColumnFacts {
  /** `at` is the start of these rows in the columns of the segment. */
  add(rows: ConvertedRows, at: ColumnsEnd & { readonly row: number }): void;
  /** Writes the facts of all added rows, whose columns must still be in `rows`, and clears the claims. */
  write(rows: EventRowWriter, facts: EventRowWriter): void;
}

type ColumnsEnd = EventRowWriter['end'];

const kinds = { first: 0, set: 1, once: 2 } as const;
type Kind = (typeof kinds)[keyof typeof kinds];

/** Fields of a claim, all doubles. */
const claim = { micros: 0, place: 1, row: 2, event: 3, id: 4, from: 5, to: 6, kind: 7 } as const;
const claimWords = 8;
/** Fields that identify a claim: the id, the kind, and the shape of the object. */
const keyWords = 4;
const none = -1;

export function createColumnFacts(of: { readonly projectId: number; readonly runId: string }): ColumnFacts {
  const claims = new Claims();
  return {
    add: ({ words, micros, places, ids, personEffects, columns: { rows } }, at) => {
      for (let row = 0; row < rows; row += 1) {
        const effect = personEffects[row] as number;
        if (effect === personEffect.other) continue;
        const first = row * wordsPerRow;
        const wordOf = (index: number): number => words[first + index] as number;
        claims.begin(micros[row] as number, places[row] as number, at.row + row, {
          event: at.event + wordOf(word.event),
          id: at.distinctId + wordOf(word.id),
        });
        const id = ids[row] as number;
        claims.claim(id, kinds.first, 0, 0, 0, 0);
        if (effect === personEffect.none) continue;
        const setTo = wordOf(word.setTo);
        if (setTo > 0) {
          const [low, high] = [wordOf(word.setShapeLow), wordOf(word.setShapeHigh)];
          claims.claim(id, kinds.set, low, high, at.properties + wordOf(word.setFrom), at.properties + setTo);
        }
        const onceTo = wordOf(word.onceTo);
        if (onceTo > 0) {
          const [low, high] = [wordOf(word.onceShapeLow), wordOf(word.onceShapeHigh)];
          claims.claim(id, kinds.once, low, high, at.properties + wordOf(word.onceFrom), at.properties + onceTo);
        }
      }
    },
    write: (rows, facts) => {
      writeFacts(claims, rows, facts, of);
      claims.clear();
    },
  };
}

/** The claims of a segment, indexed by id, kind and shape. */
class Claims {
  /** Words of the claims, one after the other. */
  words = new Float64Array(1024 * claimWords);
  count = 0;
  #keys = new Uint32Array(1024 * keyWords);
  /** Next claim with the same time, if the order of arrival decides between them; `none` without one. */
  ties = new Int32Array(1024);
  /** Open addressing: index of a claim plus one; 0 marks a free slot. */
  #slots = new Int32Array(4096);
  #found = 0;
  /** The row being added. */
  readonly #incoming = new Float64Array(claimWords);

  begin(
    micros: number,
    place: number,
    row: number,
    { event, id }: { readonly event: number; readonly id: number },
  ): void {
    const incoming = this.#incoming;
    incoming[claim.micros] = micros;
    incoming[claim.place] = place;
    incoming[claim.row] = row;
    incoming[claim.event] = event;
    incoming[claim.id] = id;
  }

  /** Claims the row for an object of the shape `low` and `high`, at [from, to) in the column of properties. */
  claim(id: number, kind: Kind, low: number, high: number, from: number, to: number): void {
    const incoming = this.#incoming;
    incoming[claim.from] = from;
    incoming[claim.to] = to;
    incoming[claim.kind] = kind;
    const slot = this.#find(id, kind, low, high);
    const known = (this.#slots[slot] as number) - 1;
    if (known < 0) {
      const added = this.#push();
      const keys = this.#keys;
      keys[added * keyWords] = id;
      keys[added * keyWords + 1] = kind;
      keys[added * keyWords + 2] = low;
      keys[added * keyWords + 3] = high;
      this.#slots[slot] = added + 1;
      this.#found += 1;
      if (this.#found * 2 > this.#slots.length) this.#growSlots();
      return;
    }
    const order = this.#order(known, kind);
    if (order < 0) return;
    if (order === 0) {
      const tied = this.#push();
      this.words.copyWithin(tied * claimWords, known * claimWords, (known + 1) * claimWords);
      this.ties[tied] = this.ties[known] as number;
      this.ties[known] = tied;
    } else this.#dropTies(known);
    this.words.set(incoming, known * claimWords);
  }

  clear(): void {
    this.count = 0;
    this.#found = 0;
    this.#slots.fill(0);
  }

  /** Positive if the row being added replaces the known claim, negative if the known claim stays, 0 if both are kept. */
  #order(known: number, kind: Kind): number {
    const at = known * claimWords;
    const later = (this.#incoming[claim.micros] as number) - (this.words[at + claim.micros] as number);
    if (kind === kinds.set) return later;
    return -later || (this.words[at + claim.place] as number) - (this.#incoming[claim.place] as number);
  }

  #dropTies(known: number): void {
    for (let tied = this.ties[known] as number; tied !== none; tied = this.ties[tied] as number) {
      this.words[tied * claimWords + claim.row] = none;
    }
    this.ties[known] = none;
  }

  #push(): number {
    const added = this.count;
    if ((added + 1) * claimWords > this.words.length) this.#grow();
    this.words.set(this.#incoming, added * claimWords);
    this.ties[added] = none;
    this.count = added + 1;
    return added;
  }

  #grow(): void {
    const { words, ties } = this;
    const keys = this.#keys;
    this.words = new Float64Array(words.length * 2);
    this.words.set(words);
    this.ties = new Int32Array(ties.length * 2);
    this.ties.set(ties);
    this.#keys = new Uint32Array(keys.length * 2);
    this.#keys.set(keys);
  }

  #find(id: number, kind: number, low: number, high: number): number {
    const mask = this.#slots.length - 1;
    const keys = this.#keys;
    let slot = hashOf(id, kind, low, high) & mask;
    for (;;) {
      const known = (this.#slots[slot] as number) - 1;
      if (known < 0) return slot;
      const at = known * keyWords;
      if (keys[at] === id && keys[at + 1] === kind && keys[at + 2] === low && keys[at + 3] === high) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #growSlots(): void {
    const old = this.#slots;
    this.#slots = new Int32Array(old.length * 2);
    for (const stored of old) {
      if (stored === 0) continue;
      const at = (stored - 1) * keyWords;
      const [id = 0, kind = 0, low = 0, high = 0] = this.#keys.subarray(at, at + keyWords);
      this.#slots[this.#find(id, kind, low, high)] = stored;
    }
  }
}

function hashOf(id: number, kind: number, low: number, high: number): number {
  let hash = Math.imul(id ^ Math.imul(kind + 1, 0x9e3779b1), 0x85ebca6b) ^ low;
  hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35) ^ high;
  hash = Math.imul(hash ^ (hash >>> 13), 0x27d4eb2f);
  return hash ^ (hash >>> 16);
}

const openObject = Buffer.from('{');
const comma = Buffer.from(',');
const names: ReadonlyMap<number, Uint8Array> = new Map([
  [kinds.set, Buffer.from('"$set":')],
  [kinds.once, Buffer.from('"$set_once":')],
]);

/** Writes one fact for each row with claims, in the order of the rows. */
function writeFacts(
  claims: Claims,
  rows: EventRowWriter,
  facts: EventRowWriter,
  { projectId, runId: importRun }: { readonly projectId: number; readonly runId: string },
): void {
  const mark = Buffer.from(runMark(importRun));
  const ending = { more: mark, alone: mark.subarray(1) };
  const { rows: rowCount, uuid, event, distinctId, properties } = rows.written();
  const { words } = claims;
  const ofRow = claimsOfRows(claims, rowCount);
  for (let row = 0; row < rowCount; row += 1) {
    const first = ofRow.first[row] as number;
    if (first === none) continue;
    const pieces: Uint8Array[] = [openObject];
    for (let each = first; each !== none; each = ofRow.next[each] as number) {
      const at = each * claimWords;
      const name = names.get(words[at + claim.kind] as number);
      if (name === undefined) continue;
      if (pieces.length > 1) pieces.push(comma);
      pieces.push(name, properties.subarray(words[at + claim.from], words[at + claim.to]));
    }
    pieces.push(pieces.length > 1 ? ending.more : ending.alone);
    const at = first * claimWords;
    const timestampMicros = words[at + claim.micros] as number;
    const receivedAtMicros = words[at + claim.place] as number;
    const keyDay = Math.floor(timestampMicros / dayMicros);
    facts.addRow(
      { projectId, historical: true, receivedAtMicros, timestampMicros, keyDay },
      {
        uuid: uuid.subarray(row * 16, (row + 1) * 16),
        event: textIn(event, words[at + claim.event] as number),
        distinctId: textIn(distinctId, words[at + claim.id] as number),
        properties: pieces,
        importRun,
      },
    );
  }
}

/** Returns the first claim of each row, and for each claim the next one of its row. */
function claimsOfRows(
  { words, count }: Claims,
  rows: number,
): { readonly first: Int32Array; readonly next: Int32Array } {
  const first = new Int32Array(rows).fill(none);
  const next = new Int32Array(count).fill(none);
  // Backwards, so that the claims of a row are in order.
  for (let each = count - 1; each >= 0; each -= 1) {
    const row = words[each * claimWords + claim.row] as number;
    if (row === none) continue;
    next[each] = first[row] as number;
    first[row] = each;
  }
  return { first, next };
}

function textIn(column: Uint8Array, at: number): Uint8Array {
  const { from, to } = textAt(column, at);
  return column.subarray(from, to);
}
