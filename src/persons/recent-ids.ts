import { current, type Person } from './person.ts';

/** Small enough that the table stays in the processor's cache: a look-up that misses the cache costs more than all the rest. */
const slotBits = 16;
/** Room for a UUID as text; longer ids are looked up as strings. */
const idBytesMax = 40;

/**
 * Persons of ids seen lately, found by the bytes of the id as they stand in a body: no string is made and none hashed,
 * which for a known person is most of the work. A slot holds the last id that fell on it; forgetting is always allowed.
 */
export class RecentIds {
  readonly #persons: (Person | undefined)[] = Array.from<undefined>({ length: 1 << slotBits });
  readonly #ids = new Uint8Array(idBytesMax << slotBits);
  readonly #lengths = new Uint8Array(1 << slotBits);

  /** The person of the id at [from, to), or undefined: unknown here. */
  find(projectId: number, bytes: Uint8Array, from: number, to: number): Person | undefined {
    const length = to - from;
    if (length > idBytesMax) return undefined;
    const slot = slotOf(projectId, bytes, from, to);
    const person = this.#persons[slot];
    if (person === undefined || person.projectId !== projectId || this.#lengths[slot] !== length) return undefined;
    const ids = this.#ids;
    const place = slot * idBytesMax;
    for (let i = 0; i < length; i++) if (ids[place + i] !== bytes[from + i]) return undefined;
    return person.mergedInto === null ? person : current(person);
  }

  remember(person: Person, bytes: Uint8Array, from: number, to: number): void {
    if (to - from > idBytesMax) return;
    const slot = slotOf(person.projectId, bytes, from, to);
    this.#persons[slot] = person;
    this.#lengths[slot] = to - from;
    const place = slot * idBytesMax;
    for (let i = 0; i < to - from; i++) this.#ids[place + i] = bytes[from + i] as number;
  }

  clear(): void {
    this.#persons.fill(undefined);
  }
}

/** FNV-1a over project and bytes, folded to the number of slots. */
function slotOf(projectId: number, bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5 ^ projectId;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  return (hash ^ (hash >>> slotBits)) & ((1 << slotBits) - 1);
}
