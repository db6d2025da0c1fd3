import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import { setMember, type Properties } from '../formats/read-values.ts';
import { isObject } from '../../base/json.ts';
import { type Bag, isLink, type Change } from './step.ts';

export type Join = NonNullable<ImportChoice['join']>[number];

/** A table in memory, and whether any event had a row in it. */
export interface JoinTable {
  /** By the text of its key: columns that are properties. */
  readonly rows: ReadonlyMap<string, Bag>;
  /** Of the key. */
  readonly column: string;
  /** Rows with a key that a row before has. */
  readonly repeated: number;
  isMatched: boolean;
}

/** Columns of the row that an event has as properties; what the event says itself stays. Links have none: they tell nothing. */
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

/** Texts and numbers that are written alike are the same key. */
export function keyOf(value: unknown): string | undefined {
  const isKey = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isKey && value !== '' ? String(value) : undefined;
}

function filled(own: Bag, row: Bag): Properties {
  const all: Properties = { ...own };
  for (const [name, value] of Object.entries(row)) if (!Object.hasOwn(own, name)) setMember(all, name, value);
  return all;
}
