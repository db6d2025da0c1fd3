import { describe, expect, it } from 'vitest';
import { FormatOptionsError, type NameTable } from './format.ts';
import { namesOf, parseNames, rename } from './names.ts';
import { formats } from './registry.ts';

const renamed = (source: object, table: Record<string, string | null>): unknown => {
  const target = {};
  rename(source as Record<string, unknown>, namesOf(table), target);
  return target;
};

describe('names', () => {
  it.each<[string, object, Record<string, string | null>, object]>([
    ['renamed, dropped, kept', { a: 1, b: 2, c: null }, { a: 'x', b: null }, { x: 1, c: null }],
    ['taken by the record', { a: 1, x: 2 }, { a: 'x' }, { a: 1, x: 2 }],
    ['taken by an earlier one', { a: 1, b: 2 }, { a: 'x', b: 'x' }, { x: 1, b: 2 }],
    ['swapped', { a: 1, b: 2 }, { a: 'b', b: 'a' }, { a: 1, b: 2 }],
    ['of every object', { constructor: 1, toString: 2 }, {}, { constructor: 1, toString: 2 }],
  ])('%s', (_name, source, table, expected) => {
    expect(renamed(source, table)).toEqual(expected);
  });

  it('a property called __proto__ is a property, under its own name and as a new one', () => {
    expect(JSON.stringify(renamed(JSON.parse('{"__proto__":1}') as object, {}))).toBe('{"__proto__":1}');
    expect(JSON.stringify(renamed({ a: 1 }, { a: '__proto__' }))).toBe('{"__proto__":1}');
  });
});

describe('an edited name table', () => {
  const standard: NameTable = { events: { a: 'b' }, properties: { c: 'd' }, person_properties: { e: null } };

  it('replaces the parts that it contains', () => {
    expect(parseNames(standard, { events: { x: null } })).toEqual({ ...standard, events: { x: null } });
    expect(parseNames(standard, { properties: {} })).toEqual({ ...standard, properties: {} });
  });

  it.each<[unknown, string]>([
    [[], 'names: expected a JSON object with events, properties, person_properties'],
    [{ event: {} }, 'names: expected only events, properties, person_properties, got event'],
    [{ events: [] }, 'names.events: expected an object'],
    [{ properties: { a: '' } }, 'names.properties.a: expected a name, or null'],
    [{ person_properties: { a: 1 } }, 'names.person_properties.a: expected a name, or null'],
  ])('%j is rejected', (given, message) => {
    expect(() => parseNames(standard, given)).toThrow(FormatOptionsError);
    expect(() => parseNames(standard, given)).toThrow(message);
  });

  it.each(formats.map((format) => [format.slug, format.names] as const))(
    'of %s, printed and passed back, is the same',
    (_slug, names) => {
      expect(
        parseNames({ events: {}, properties: {}, person_properties: {} }, JSON.parse(JSON.stringify(names))),
      ).toEqual(names);
    },
  );
});
