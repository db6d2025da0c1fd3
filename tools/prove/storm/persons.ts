/** The oracle of persons: what they must be after some events, by the rules alone. */
import type { StormEvent } from './events.ts';

/** A person as the API shows it. */
export interface ShownPerson {
  readonly distinct_ids: readonly string[];
  readonly properties: Readonly<Record<string, unknown>>;
  readonly created_at: string;
  readonly is_identified: boolean;
}

interface Said {
  /** ms since the epoch. */
  readonly at: number;
  /** Undefined: taken away. */
  readonly value: unknown;
}

interface KnownId {
  /** Itself: the head of those that are one person. */
  head: string;
  firstMs: number;
  isIdentified: boolean;
  readonly said: Map<string, Said>;
}

export class PersonOracle {
  readonly #ids = new Map<string, KnownId>();

  learn({ distinct_id: id, timestamp, properties }: StormEvent): void {
    const at = Date.parse(timestamp);
    const known = this.#known(id);
    known.firstMs = Math.min(known.firstMs, at);
    for (const [key, value] of Object.entries(objectAt(properties, '$set'))) latest(known.said, key, { at, value });
    for (const [key, value] of Object.entries(objectAt(properties, '$set_once'))) {
      earliest(known.said, key, { at, value });
    }
    const unset: unknown = properties['$unset'];
    if (Array.isArray(unset)) for (const key of unset) latest(known.said, String(key), { at, value: undefined });
    const other = properties['$anon_distinct_id'] ?? properties['alias'];
    if (typeof other !== 'string') return;
    known.isIdentified = true;
    this.#known(this.#headOf(other)).head = this.#headOf(id);
  }

  /** All of them, each as a line that is the same for the same person. */
  lines(): string[] {
    const groups = Map.groupBy(this.#ids, ([id]) => this.#headOf(id));
    return Array.from(groups.values(), (members) => {
      const said = members.flatMap(([, known]) => [...known.said]);
      return personLine({
        distinct_ids: members.map(([id]) => id),
        properties: Object.fromEntries(said.flatMap(([key, { value }]) => (value === undefined ? [] : [[key, value]]))),
        created_at: new Date(Math.min(...members.map(([, known]) => known.firstMs))).toISOString(),
        is_identified: members.some(([, known]) => known.isIdentified),
      });
    }).sort();
  }

  #known(id: string): KnownId {
    const known = this.#ids.get(id) ?? { head: id, firstMs: Infinity, isIdentified: false, said: new Map() };
    this.#ids.set(id, known);
    return known;
  }

  #headOf(id: string): string {
    const { head } = this.#known(id);
    return head === id ? id : this.#headOf(head);
  }
}

export function personLine({ distinct_ids: ids, properties, created_at, is_identified }: ShownPerson): string {
  const sorted = Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([ids.toSorted(), sorted, Date.parse(created_at), is_identified]);
}

function latest(said: Map<string, Said>, key: string, next: Said): void {
  if ((said.get(key)?.at ?? -Infinity) < next.at) said.set(key, next);
}

function earliest(said: Map<string, Said>, key: string, next: Said): void {
  if ((said.get(key)?.at ?? Infinity) > next.at) said.set(key, next);
}

function objectAt(properties: StormEvent['properties'], key: string): object {
  const value = properties[key];
  return typeof value === 'object' && value !== null ? value : {};
}
