import { current, type Person } from './person.ts';

/** Adjacent slots per set: an id may be in any slot of its set or, if that is full, of its second set. */
const ways = 4;
/** A slot has 64 bytes, one cache line: project, length, creation, bytes of the id. */
const slotWords = 16;
const createdAtWord = 2;
const idWord = 4;
/** Room for a UUID as text; longer ids are looked up as strings. */
const idBytesMax = 40;
const slotBitsMin = 8;
/** More than a million ids in 144 MiB. */
const slotBitsMax = 21;
/**
 * Limit of slots (36 MiB) unless ids are remembered mainly for `wasCreatedBy`, which saves a store look-up. Events that change their
 * persons need the persons themselves, and the memory for them.
 */
const slotBitsWithPersons = 19;
/** Size of a slot with the reference to its person. */
const slotBytes = 4 * slotWords + 8;
const none = -1;

/**
 * Caches persons of recently seen ids, found by the bytes of the id in a body: no string is created or hashed, which would be most of
 * the work for a known person. An entry may be evicted at any time.
 *
 * With many persons every access to another place in memory misses the processor's cache. So a slot alone answers the common
 * question, `wasCreatedBy`, and the slots of a set are adjacent.
 */
export class RecentIds {
  /** Grows on demand, so that a store of a few persons stays small. */
  #slotBits = slotBitsMin;
  #slots = new Int32Array(slotWords << slotBitsMin);
  /** `createdAt` of the persons when last read, in the same bytes: it may have decreased since, but never increased. */
  #creations = new Float64Array(this.#slots.buffer);
  #persons = noPersons(slotBitsMin);
  #taken = 0;
  #replaced = 0;
  /** Since the last growth: number of ids remembered, and of misses in `wasCreatedBy`. */
  #remembered = 0;
  #unknown = 0;
  /** The id to search for, as words; the last word is padded with zeros. */
  readonly #id = new Int32Array(idBytesMax / 4);
  readonly #bytesMax: () => number;

  /** @param bytesMax maximum size, bytes */
  constructor(bytesMax: () => number = () => Infinity) {
    this.#bytesMax = bytesMax;
  }

  /** Memory in use. */
  get bytes(): number {
    return slotBytes << this.#slotBits;
  }

  /** Whether the id at [from, to) is cached with a person created at `micros` or before. False: use `find`. */
  wasCreatedBy(micros: number, projectId: number, bytes: Uint8Array, from: number, to: number): boolean {
    const slot = this.#slotOf(projectId, bytes, from, to);
    if (slot === none) this.#unknown++;
    return slot !== none && (this.#creations[creationOf(slot)] as number) <= micros;
  }

  /** Returns the person of the id at [from, to) if it is cached. */
  find(projectId: number, bytes: Uint8Array, from: number, to: number): Person | undefined {
    const slot = this.#slotOf(projectId, bytes, from, to);
    const known = slot === none ? undefined : this.#persons[slot];
    if (known === undefined) return undefined;
    const person = known.mergedInto === null ? known : current(known);
    this.#creations[creationOf(slot)] = person.createdAt;
    return person;
  }

  remember(person: Person, bytes: Uint8Array, from: number, to: number): void {
    const { projectId } = person;
    const length = to - from;
    if (length > idBytesMax || projectId !== (projectId | 0)) return;
    this.#remembered++;
    if (this.#taken > this.#persons.length >> 1) this.#grow();
    const hash = mix(this.#readId(bytes, from, to), projectId);
    const found = this.#search(hash, projectId, length);
    const slot = found === none ? this.#placeFor(hash) : found;
    const base = slot * slotWords;
    this.#slots[base] = projectId;
    this.#slots[base + 1] = lengthMark(length);
    this.#creations[creationOf(slot)] = person.createdAt;
    for (let word = 0; 4 * word < length; word++) this.#slots[base + idWord + word] = this.#id[word] as number;
    this.#persons[slot] = person;
  }

  clear(): void {
    this.#empty(slotBitsMin);
  }

  /** Drops the persons, and keeps their creation times. */
  forgetPersons(): void {
    this.#persons.fill(undefined);
  }

  #grow(): void {
    const bits = this.#slotBits + 1;
    if (bits > slotBitsMax || slotBytes << bits > this.#bytesMax()) return;
    if (bits > slotBitsWithPersons && 2 * this.#unknown < this.#remembered) return;
    const slots = this.#slots;
    const persons = this.#persons;
    this.#empty(bits);
    for (let slot = 0; slot < persons.length; slot++) {
      const from = slot * slotWords;
      const length = (slots[from + 1] as number) - lengthMark(0);
      if (length < 0) continue;
      let hash = 0;
      for (let word = 0; 4 * word < length; word++) hash = mix(hash, slots[from + idWord + word] as number);
      const place = this.#placeFor(mix(hash, slots[from] as number));
      for (let word = 0; word < slotWords; word++) this.#slots[place * slotWords + word] = slots[from + word] as number;
      this.#persons[place] = persons[slot];
    }
  }

  #empty(slotBits: number): void {
    this.#slotBits = slotBits;
    this.#slots = new Int32Array(slotWords << slotBits);
    this.#creations = new Float64Array(this.#slots.buffer);
    this.#persons = noPersons(slotBits);
    this.#taken = 0;
    this.#remembered = 0;
    this.#unknown = 0;
  }

  #slotOf(projectId: number, bytes: Uint8Array, from: number, to: number): number {
    const length = to - from;
    if (length > idBytesMax) return none;
    return this.#search(mix(this.#readId(bytes, from, to), projectId), projectId, length);
  }

  /** Returns the first slot of the set for this hash. */
  #setOf(hash: number): number {
    return (Math.imul(hash, 0x85ebca6b) >>> (32 - this.#slotBits)) & -ways;
  }

  /** Returns the second set, used when the first is full: with half of the slots in use one id in twenty, which would otherwise be evicted repeatedly. */
  #secondSetOf(hash: number): number {
    return (Math.imul(hash, 0xc2b2ae35) >>> (32 - this.#slotBits)) & -ways;
  }

  #search(hash: number, projectId: number, length: number): number {
    const set = this.#setOf(hash);
    const found = this.#searchIn(set, projectId, length);
    return found === none && this.#isFull(set) ? this.#searchIn(this.#secondSetOf(hash), projectId, length) : found;
  }

  #searchIn(set: number, projectId: number, length: number): number {
    const slots = this.#slots;
    const id = this.#id;
    for (let slot = set; slot < set + ways; slot++) {
      const base = slot * slotWords;
      if (slots[base] !== projectId || slots[base + 1] !== lengthMark(length)) continue;
      let word = 0;
      while (4 * word < length && slots[base + idWord + word] === id[word]) word++;
      if (4 * word >= length) return slot;
    }
    return none;
  }

  /** The slots of a set are filled in order. */
  #isFull(set: number): boolean {
    return this.#slots[(set + ways - 1) * slotWords + 1] !== 0;
  }

  /** Returns an empty slot of its sets, or one to overwrite. */
  #placeFor(hash: number): number {
    const first = this.#setOf(hash);
    const set = this.#isFull(first) ? this.#secondSetOf(hash) : first;
    for (let slot = set; slot < set + ways; slot++) {
      if (this.#slots[slot * slotWords + 1] !== 0) continue;
      this.#taken++;
      return slot;
    }
    return set + (this.#replaced++ & (ways - 1));
  }

  /** Reads the id as words and returns their hash. */
  #readId(bytes: Uint8Array, from: number, to: number): number {
    const id = this.#id;
    let hash = 0;
    let word = 0;
    let at = from;
    for (; at + 4 <= to; at += 4) {
      const four =
        (bytes[at] as number) |
        ((bytes[at + 1] as number) << 8) |
        ((bytes[at + 2] as number) << 16) |
        ((bytes[at + 3] as number) << 24);
      id[word++] = four;
      hash = mix(hash, four);
    }
    if (at === to) return hash;
    let rest = 0;
    for (let shift = 0; at < to; at++, shift += 8) rest |= (bytes[at] as number) << shift;
    id[word] = rest;
    return mix(hash, rest);
  }
}

/** Never 0, so that an empty slot matches no id. */
function lengthMark(length: number): number {
  return length + 1;
}

function creationOf(slot: number): number {
  return (slot * slotWords + createdAtWord) >> 1;
}

function mix(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

function noPersons(slotBits: number): (Person | undefined)[] {
  return Array.from<undefined>({ length: 1 << slotBits });
}
