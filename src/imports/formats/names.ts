import { isObject } from '../../base/json.ts';
import { FormatOptionsError, type NameTable } from './format.ts';
import { setMember, type Json } from './read-values.ts';

/** A part of a name table as a map. */
export type Names = ReadonlyMap<string, string | null>;

export function namesOf(table: Readonly<Record<string, string | null>>): Names {
  return new Map(Object.entries(table));
}

/**
 * Copies properties under their new names. A value never replaces another: if the new name is taken by the record itself or by an
 * earlier property, the property keeps its old name. Names mapped to null are dropped.
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
 * Validates a table as a user edited it. Unlisted names stay; a missing part or table is the format's default. Throws FormatOptionsError,
 * which names the invalid entry.
 */
export function parseNames(standard: NameTable, given: unknown): NameTable {
  if (given === undefined) return standard;
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
  if (!isObject(given)) throw new FormatOptionsError(`names.${part}: expected an object from old names to new names`);
  const table: Record<string, string | null> = {};
  for (const [key, name] of Object.entries(given)) {
    if (name !== null && (typeof name !== 'string' || name === '')) {
      throw new FormatOptionsError(`names.${part}.${key.slice(0, 60)}: expected a name, or null to drop it`);
    }
    setMember(table, key, name);
  }
  return table;
}
