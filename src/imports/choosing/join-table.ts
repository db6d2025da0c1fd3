import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import { setMember, type Properties } from '../formats/read-values.ts';
import { isObject } from '../../base/json.ts';
import { type Bag, isLink, type Change } from './step.ts';

export type Join = NonNullable<ImportChoice['join']>[number];

/** A table in memory, and whether any event had a row in it. */
export interface JoinTable {
  /** Columns that become properties, by the text of the key. */
  readonly rows: ReadonlyMap<string, Bag>;
  /** Column of the key. */
  readonly column: string;
  /** Number of rows whose key an earlier row has. */
  readonly repeated: number;
  isMatched: boolean;
}

/**
 * Adds the columns of the matching row as properties; the event's own properties win. Links get none, since they describe no
 * action.
 */
export function joinTable({ on, as = 'event' }: Join, table: JoinTable): Change {
  return (event) => {
    if (isLink(event)) return event;
    const key = keyOf(on === 'distinct_id' ? event.distinct_id : event.properties[on]);
    const row = key === undefined ? undefined : table.rows.get(key);
    if (row === undefined) return event;
    table.isMatched = true;
    const { properties } = event;
    if (as === 'event') return { ...event, properties: filled(properties, row) };
    const person = isObject(properties['$set']) ? properties['$set'] : {};
    return { ...event, properties: { ...properties, $set: filled(person, row) } };
  };
}

/** Texts and numbers with the same spelling are the same key. */
export function keyOf(value: unknown): string | undefined {
  const isKey = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isKey && value !== '' ? String(value) : undefined;
}

function filled(own: Bag, row: Bag): Properties {
  const all: Properties = { ...own };
  for (const [name, value] of Object.entries(row)) if (!Object.hasOwn(own, name)) setMember(all, name, value);
  return all;
}
