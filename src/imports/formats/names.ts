import { isObject } from '../../base/json.ts';
import { FormatOptionsError, type NameTable } from './format.ts';
import { setMember, type Json } from './read-values.ts';

/** A part of a name table, ready for many look-ups. */
export type Names = ReadonlyMap<string, string | null>;

export function namesOf(table: Readonly<Record<string, string | null>>): Names {
  return new Map(Object.entries(table));
}

/**
 * Copies properties under their new names. A value never takes the place of another one: where the new name is taken (by
 * the record itself, or by an earlier property), a property keeps its own. Nulls of the table are left out.
 */
export function rename(source: Json, names: Names, target: Record<string, unknown>): void {
  for (const key of Object.keys(source)) {
    const name = names.get(key);
    if (name === undefined) setMember(target, key, source[key]);
    else if (name !== null) {
      const isTaken = name !== key && (Object.hasOwn(source, name) || Object.hasOwn(target, name));
      setMember(target, isTaken ? key : name, source[key]);
    }
  }
}

const parts = ['events', 'properties', 'person_properties'] as const;

/**
 * A table as a user edited it: what is not listed keeps its name. A part that is not there at all is the format's own.
 * Throws FormatOptionsError, which says which entry is wrong.
 */
export function parseNames(standard: NameTable, given: unknown): NameTable {
  if (!isObject(given)) {
    throw new FormatOptionsError(`names: expected a JSON object with ${parts.join(', ')}`);
  }
  const unknown = Object.keys(given).find((key) => !(parts as readonly string[]).includes(key));
  if (unknown !== undefined) {
    throw new FormatOptionsError(`names: expected only ${parts.join(', ')}, got ${unknown.slice(0, 60)}`);
  }
  return {
    events: parsePart('events', given['events']) ?? standard.events,
    properties: parsePart('properties', given['properties']) ?? standard.properties,
    person_properties: parsePart('person_properties', given['person_properties']) ?? standard.person_properties,
  };
}

function parsePart(part: string, given: unknown): Readonly<Record<string, string | null>> | undefined {
  if (given === undefined) return undefined;
  if (!isObject(given)) throw new FormatOptionsError(`names.${part}: expected an object of old names and new ones`);
  const table: Record<string, string | null> = {};
  for (const [key, name] of Object.entries(given)) {
    if (name !== null && (typeof name !== 'string' || name === '')) {
      throw new FormatOptionsError(`names.${part}.${key.slice(0, 60)}: expected a name, or null to leave it out`);
    }
    setMember(table, key, name);
  }
  return table;
}
