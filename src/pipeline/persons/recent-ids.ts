import { current, type Person } from './person.ts';

/** Slots of a set, side by side: an id may lie in any slot of its set, and where that is full, of its second set. */
const ways = 4;
/** A slot has 64 bytes, a line of the processor's cache: project, length, creation, bytes of the id. */
const slotWords = 16;
const createdAtWord = 2;
const idWord = 4;
/** Room for a UUID as text; longer ids are looked up as strings. */
const idBytesMax = 40;
const slotBitsMin = 8;
/** A million ids and more in 144 MiB. */
const slotBitsMax = 21;
/**
 * More slots than these, 36 MiB, only where ids are remembered for `wasCreatedBy`, which saves a look into the store. Events that say
 * something of their persons need these themselves, and the memory for them.
 */
const slotBitsUnasked = 19;
/** Of a slot and the reference to its person. */
const slotBytes = 4 * slotWords + 8;
const none = -1;

/**
 * Persons of ids seen lately, found by the bytes of the id as they stand in a body: no string is made and none hashed,
 * which for a known person is most of the work. Forgetting is always allowed.
 *
 * With many people every look at another place in memory misses the processor's cache. So a slot answers the common
 * question, `wasCreatedBy`, by itself, and its set lies in one piece.
 */
export class RecentIds {
  /** More slots with every growth, so that a store of a few persons stays small. */
  #slotBits = slotBitsMin;
  #slots = new Int32Array(slotWords << slotBitsMin);
  /** In the same bytes, `createdAt` of the persons when they were last looked at: it may have fallen since, but never risen. */
  #creations = new Float64Array(this.#slots.buffer);
  #persons = noPersons(slotBitsMin);
  #taken = 0;
  #replaced = 0;
  /** Since it grew: how many were remembered, and how often `wasCreatedBy` knew nothing of an id. */
  #remembered = 0;
  #unknown = 0;
  /** The id that is looked for, as words; what the last one lacks is zero. */
  readonly #id = new Int32Array(idBytesMax / 4);
  readonly #bytesMax: () => number;

  /** `bytesMax`: what it may grow to, bytes. */
  constructor(bytesMax: () => number = () => Infinity) {
    this.#bytesMax = bytesMax;
  }

  /** The memory that it takes. */
  get bytes(): number {
    return slotBytes << this.#slotBits;
  }

  /** Whether the id at [from, to) is known here to mean a person that was created at `micros` or before. False: ask `find`. */
  wasCreatedBy(micros: number, projectId: number, bytes: Uint8Array, from: number, to: number): boolean {
    const slot = this.#slotOf(projectId, bytes, from, to);
    if (slot === none) this.#unknown++;
    return slot !== none && (this.#creations[creationOf(slot)] as number) <= micros;
  }

  /** The person of the id at [from, to), or undefined: unknown here. */
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

  /** Lets go of the persons, and keeps what is known of their creation. */
  forgetPersons(): void {
    this.#persons.fill(undefined);
  }

  #grow(): void {
    const bits = this.#slotBits + 1;
    if (bits > slotBitsMax || slotBytes << bits > this.#bytesMax()) return;
    if (bits > slotBitsUnasked && 2 * this.#unknown < this.#remembered) return;
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

  /** The first slot of the set for ids with this hash. */
  #setOf(hash: number): number {
    return (Math.imul(hash, 0x85ebca6b) >>> (32 - this.#slotBits)) & -ways;
  }

  /** The set for those that found the other one full: of half full slots one in twenty ids, else forgotten again and again. */
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

  /** Slots of a set are taken one after another. */
  #isFull(set: number): boolean {
    return this.#slots[(set + ways - 1) * slotWords + 1] !== 0;
  }

  /** An empty slot of its sets, or one whose id is forgotten for it. */
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

  /** Takes the id into words, and returns their hash. */
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

/** Nothing of an empty slot is right for any id. */
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
