import { currentProperties, initialProperties } from '../../../formats/add-person-of-event.ts';
import type { PlainTable } from '../../../formats/plain-table.ts';
import { settledTexts } from '../../../formats/settle-properties.ts';
import type { UnmappedNames } from '../find-unmapped.ts';
import { hashOf } from './byte-memo.ts';
import { createKeyTable, type KeyMeaning, type KeyTable } from './key-table.ts';

/** A table with numbers in the place of names. */
export interface CompiledTable {
  readonly record: KeyTable;
  /** As in the table; undefined: the record itself, whose members are among its own keys. */
  readonly bags: readonly (KeyTable | undefined)[];
  /** Of members that are looked at, by path; -1: none has this path. */
  readonly memberOf: (path: string) => number;
  readonly members: number;
  /** Of properties that are looked at. */
  readonly propertyOf: (name: string) => number;
  readonly properties: number;
}

/** What the writer, the run and the store add to properties, and what changes what becomes of an event. */
const oddProperties: ReadonlySet<string> = new Set([
  '$cookieless_mode',
  '$geoip_disable',
  '$group_set',
  '$groups',
  '$import_run_id',
  '$import_source',
  '$process_person_profile',
  '$set',
  '$set_once',
  '$unset',
  '__proto__',
]);

/** Where the page of an event is written. */
export const urlProperties = { url: '$current_url', host: '$host', path: '$pathname' } as const;
export const countryName = '$geoip_country_name';

export function compileTable(table: PlainTable, unmapped: UnmappedNames): CompiledTable {
  const members = numbered([
    table.event,
    table.time.path,
    table.uuid.path,
    ...table.ids.paths,
    ...table.derived.flatMap((each) => (typeof each === 'object' && each.of === 'members' ? each.from : [])),
  ]);
  const properties = numbered([
    ...currentProperties,
    ...initialProperties,
    ...settledTexts.keys(),
    ...Object.values(urlProperties),
    countryName,
    ...table.derived.flatMap((each) => (typeof each === 'object' && each.of === 'properties' ? each.from : [])),
  ]);
  const bagPaths = table.bags.map(({ path }) => path);
  const meaningIn = (bag: number, key: string): KeyMeaning => {
    const names = table.bags[bag]?.names;
    const path = bagPaths[bag] === '' || names === undefined ? key : `${bagPaths[bag] ?? ''}.${key}`;
    const member = members.get(path) ?? -1;
    const given = names === undefined ? null : names.get(key);
    const name = given === undefined ? key : given;
    const isOdd = name === null ? names === undefined && member < 0 : oddProperties.has(name) || oddProperties.has(key);
    return {
      isOdd,
      bag: -1,
      member,
      property: name === null ? -1 : (properties.get(name) ?? -1),
      output: Buffer.from(name === null ? '' : `${JSON.stringify(name)}:`),
      isKept: name === key,
      first: nameNumber(key),
      second: nameNumber(name ?? key),
      heard: name !== null && unmapped.isProperty(name) ? name : undefined,
    };
  };
  const recordBag = bagPaths.indexOf('');
  return {
    record: createKeyTable((key) => {
      const bag = bagPaths.indexOf(key);
      const meaning = meaningIn(recordBag, key);
      return bag < 0 ? meaning : { ...meaning, isOdd: false, bag, output: Buffer.alloc(0) };
    }),
    bags: bagPaths.map((path, bag) => (path === '' ? undefined : createKeyTable((key) => meaningIn(bag, key)))),
    memberOf: (path) => members.get(path) ?? -1,
    members: members.size,
    propertyOf: (name) => properties.get(name) ?? -1,
    properties: properties.size,
  };
}

function numbered(names: readonly string[]): ReadonlyMap<string, number> {
  return new Map([...new Set(names)].map((name, index) => [name, index]));
}

/** Numbers that names may share: two that do are taken for one, and a record with both is odd. */
export const nameNumbers = 1 << 16;

export function nameNumber(name: string): number {
  const bytes = Buffer.from(name);
  return hashOf(bytes, 0, bytes.length) & (nameNumbers - 1);
}
