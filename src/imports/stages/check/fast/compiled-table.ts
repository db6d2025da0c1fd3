import { currentProperties, initialProperties } from '../../../formats/add-person-of-event.ts';
import type { PlainBag, PlainDerived, PlainIdPart, PlainList, PlainMembers, PlainTable } from './plain-table.ts';
import { normalisedTexts } from '../../../formats/normalise-properties.ts';
import type { UnmappedNames } from '../segment/find-unmapped.ts';
import { isUnusualKey, unusualKey, type KeyMeaning, type MeaningOf } from './key-meaning.ts';
import { createNameNumbers, type NameNumbers } from './name-numbers.ts';

/** A table with numbers in the place of names. */
export interface CompiledTable {
  /** Those whose members are looked at; the record comes first. */
  readonly objects: readonly CompiledObject[];
  /** Lists of pairs. */
  readonly pairs: readonly CompiledPairs[];
  /** What is written of a record in pieces: of the steps of the table in their order, then of what is said of the person. */
  readonly lists: readonly CompiledList[];
  readonly names: NameNumbers;
  /** Whether normaliseProperties is not for this format. */
  readonly isSettled: boolean;
  /** Whether somebody wants to hear the name of a property. */
  readonly isHeard: (name: string) => boolean;
  /** Of members that are looked at, by path; -1: none has this path. */
  readonly memberOf: (path: string) => number;
  readonly members: number;
  /** Of properties that are looked at. */
  readonly propertyOf: (name: string) => number;
  readonly properties: number;
}

export interface CompiledObject {
  /** Of keys that are not odd by themselves. */
  readonly meaningOf: MeaningOf;
  readonly mayBeText: boolean;
  /** An empty text is no object. */
  readonly mayBeEmpty: boolean;
  readonly isNeeded: boolean;
}

export interface CompiledPairs {
  readonly meaningOf: MeaningOf;
  readonly isNeeded: boolean;
}

/** Where properties stand: beside each other, or in one of them. */
export type Target = 'properties' | '$set' | '$set_once';

export interface CompiledList {
  readonly target: Target;
  /** A name that an earlier list of the target has is its own; else a record in which two have it is odd. */
  readonly wins: boolean;
  /** Of members one by one that are odd when they are no texts. */
  readonly areTexts: boolean;
  readonly areNeeded: boolean;
  /** Only where this member has this value. */
  readonly only: { readonly member: number; readonly is: Buffer } | undefined;
  /** Of members one by one: what each becomes, in this order; undefined: of an object, whose keys tell. */
  readonly fields: readonly KeyMeaning[] | undefined;
}

/** What the run and the store add to properties, and what changes what becomes of an event. */
const unusualProperties: ReadonlySet<string> = new Set([
  '$cookieless_mode',
  '$group_key',
  '$group_set',
  '$import_run_id',
  '$import_source',
  '$set',
  '$set_once',
  '$unset',
  '__proto__',
]);

/** Where the page of an event is written. */
export const urlProperties = { url: '$current_url', host: '$host', path: '$pathname' } as const;
export const countryName = '$geoip_country_name';
export const countryCode = '$geoip_country_code';
/** Properties that are allowed with some values only. */
export const checkedProperties = {
  noGeoip: '$geoip_disable',
  groups: '$groups',
  profile: '$process_person_profile',
} as const;

/** Of steps; false: nothing is gathered for this one. */
export function isListed<Step extends object>(step: Step | string): step is Exclude<Step, PlainDerived> {
  return typeof step === 'object' && !('make' in step);
}

/** What a reader may give a property as it likes, but not without looking: they are odd in a fragment. */
export function isUnusualInFragment(target: Target, name: string): boolean {
  return (
    isUnusualName(target, name) ||
    isUnusualKey(name) ||
    (target === 'properties' && (name === checkedProperties.noGeoip || name === checkedProperties.profile))
  );
}

export function compileTable(table: PlainTable, unmapped: UnmappedNames): CompiledTable {
  const derived = [...table.properties, ...(table.person ?? [])].filter(isDerived);
  const members = numbered([
    ...table.event,
    ...('path' in table.time ? [table.time.path] : table.time.from),
    ...pathsOfUuid(table.uuid),
    ...table.ids.paths,
    ...derived.flatMap(({ of, from }) => (of === 'members' ? from : [])),
  ]);
  const properties = numbered([
    ...currentProperties,
    ...initialProperties,
    ...normalisedTexts.keys(),
    ...Object.values(urlProperties),
    ...Object.values(checkedProperties),
    countryName,
    countryCode,
    ...derived.flatMap(({ of, from }) => (of === 'properties' ? from : [])),
  ]);
  const names = createNameNumbers();
  const sources = sourcesOf(table);
  const outputOf = (target: Target, name: string): Pick<KeyMeaning, 'property' | 'output' | 'name' | 'heard'> => {
    const isOwn = target === 'properties';
    return {
      property: isOwn ? (properties.get(name) ?? -1) : -1,
      output: Buffer.from(`${JSON.stringify(name)}:`),
      name: names.numberOf(target, name),
      heard: isOwn && unmapped.isProperty(name) ? name : undefined,
    };
  };
  const fieldOf = (name: string, { nothing }: PlainMembers, target: Target): KeyMeaning => ({
    ...nothingMeant,
    ...outputOf(target, name),
    isKept: true,
    isUnusual: unusualProperties.has(name),
    isOfPerson: target !== 'properties',
    nothing: bytesOf(nothing),
  });
  const compiled = { table, sources, members, names, outputOf };
  return {
    objects: objectsOf(compiled),
    pairs: pairsOf(compiled),
    lists: sources.map(({ step, target, wins }) => ({
      target,
      wins,
      areTexts: 'members' in step && step.areTexts === true,
      areNeeded: 'members' in step && step.areNeeded === true,
      only: 'members' in step ? onlyOf(step, members) : undefined,
      fields: 'members' in step ? Object.keys(step.members).map((name) => fieldOf(name, step, target)) : undefined,
    })),
    names,
    isSettled: table.isSettled === true,
    isHeard: (name) => unmapped.isProperty(name),
    memberOf: (path) => members.get(path) ?? -1,
    members: members.size,
    propertyOf: (name) => properties.get(name) ?? -1,
    properties: properties.size,
  };
}

function isDerived(step: PlainTable['properties'][number]): step is PlainDerived {
  return typeof step === 'object' && 'make' in step;
}

function pathsOfUuid(uuid: PlainTable['uuid']): readonly string[] {
  if (uuid.is === 'content') return [];
  return uuid.is === 'parts' ? uuid.parts.flatMap(pathsOfPart) : [uuid.path];
}

function pathsOfPart(part: PlainIdPart): readonly string[] {
  if (part === 'time' || 'text' in part) return [];
  return 'path' in part ? [part.path] : part.from;
}

function onlyOf({ only }: PlainMembers, members: ReadonlyMap<string, number>): CompiledList['only'] {
  return only && { member: members.get(only.path) ?? -1, is: Buffer.from(JSON.stringify(only.is)) };
}

/** Where the items of a list come from. */
interface Source {
  readonly step: PlainList;
  readonly target: Target;
  readonly wins: boolean;
  readonly takes: (name: string) => boolean;
}

const all = (): boolean => true;

function sourcesOf({ properties, person = [] }: PlainTable): readonly Source[] {
  return [
    ...properties
      .filter(isListed)
      .map((step) => ({ step, target: 'properties' as const, wins: 'bag' in step && step.wins === true, takes: all })),
    ...person.filter(isListed).map((step) => ({ step, target: step.into, wins: true, takes: step.takes ?? all })),
  ];
}

interface Compiling {
  readonly table: PlainTable;
  readonly sources: readonly Source[];
  readonly members: ReadonlyMap<string, number>;
  readonly names: NameNumbers;
  readonly outputOf: (target: Target, name: string) => Pick<KeyMeaning, 'property' | 'output' | 'name' | 'heard'>;
}

function objectsOf(compiling: Compiling): readonly CompiledObject[] {
  const { table, sources, members } = compiling;
  const bags = sources.flatMap(({ step }) => ('bag' in step ? [step] : []));
  const fields = sources.flatMap(({ step }) => ('members' in step ? Object.values(step.members) : []));
  const lists = sources.flatMap(({ step }) => ('pairs' in step ? [step.pairs] : []));
  const inPaths = [...members.keys(), ...fields, ...lists].map(objectOf);
  const paths = [...new Set(['', ...bags.flatMap(({ bag, apart = [] }) => [bag, ...apart]), ...inPaths])];
  const within = paths.flatMap((path) => path.split('.').map((_, at, steps) => steps.slice(0, at + 1).join('.')));
  const objects = [...new Set([...paths, ...within])];
  return objects.map((path) => ({
    meaningOf: (key) => meaningOf(compiling, objects, path, key),
    mayBeText: table.texts?.has(path) === true || bags.some(({ bag, mayBeText }) => bag === path && mayBeText),
    mayBeEmpty: table.texts?.has(path) === true,
    isNeeded: bags.some(({ bag, isNeeded }) => bag === path && isNeeded),
  }));
}

/** `properties` of `properties.time`. */
function objectOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('.')));
}

function pairsOf({ sources, outputOf, names }: Compiling): readonly CompiledPairs[] {
  return sources.flatMap(({ step, target }, list) => {
    if (!('pairs' in step)) return [];
    const meaningIn = (key: string): KeyMeaning => {
      const given = step.names.get(key);
      const ownKey = names.numberOf(`in ${step.pairs}`, key);
      if (given === null) return { ...nothingMeant, isUnusual: ownKey < 0, ownKey, ownName: ownKey };
      const output = outputOf(target, given ?? key);
      return {
        ...nothingMeant,
        ...output,
        isUnusual: ownKey < 0 || output.name < 0 || isUnusualName(target, key) || isUnusualName(target, given ?? key),
        ownKey,
        ownName: ownKey,
        list,
        isOfPerson: target !== 'properties',
        nothing: bytesOf(step.nothing),
      };
    };
    return [{ meaningOf: meaningIn, isNeeded: step.isNeeded === true }];
  });
}

const nothingMeant: KeyMeaning = { ...unusualKey, isUnusual: false };

function meaningOf(compiling: Compiling, objects: readonly string[], object: string, key: string): KeyMeaning {
  const { table, sources, members, names } = compiling;
  const path = pathOf(object, key);
  const ownKey = names.numberOf(`in ${object}`, key);
  const known = {
    ...nothingMeant,
    ownKey,
    ownName: ownKey,
    object: objects.indexOf(path),
    pairs: sources.flatMap(({ step }) => ('pairs' in step ? [step.pairs] : [])).indexOf(path),
    member: members.get(path) ?? -1,
    fields: fieldsAt(sources, path),
    isUnusual: ownKey < 0 || (object === '' && table.unusual?.has(key) === true),
  };
  const bags = sources.flatMap((source, list) =>
    'bag' in source.step && isIn(source.step, object) ? [{ ...source, bag: source.step, list }] : [],
  );
  if (bags.length === 0) {
    const isSilent =
      object !== '' ||
      table.silent === 'all' ||
      table.silent?.has(key) === true ||
      known.object >= 0 ||
      known.member >= 0 ||
      known.pairs >= 0 ||
      known.fields.length > 0;
    return { ...known, isUnusual: known.isUnusual || !isSilent };
  }
  for (const { bag, list, target, takes } of bags) {
    if (bag.apart?.includes(path) === true) return known;
    const source = object === bag.bag ? key : `${object.replaceAll('.', '_')}_${key}`;
    const given = bag.names.get(source);
    const name = given === undefined ? source : given;
    // Of an object that is taken apart each member has a name of its own.
    if (name === null) return { ...known, isNoObject: bag.apart !== undefined };
    if (!takes(name)) continue;
    const group = groupAt(known.object, target, key, given);
    const isObject = known.object >= 0 && bag.keepsObjects !== true;
    const isUnusual = group === undefined && (isObject || isUnusualName(target, key) || isUnusualName(target, name));
    const output = compiling.outputOf(target, name);
    return {
      ...known,
      ...output,
      isUnusual: known.isUnusual || isUnusual || output.name < 0,
      ownName: names.numberOf(`in ${object}`, name),
      list,
      isKept: name === key,
      group,
      isNoObject: bag.apart !== undefined,
      isOfPerson: group !== undefined || target !== 'properties',
      nothing: bytesOf(bag.nothing),
    };
  }
  return { ...known, isUnusual: true };
}

/** Of a name that no path can say: one that leads nowhere. */
function pathOf(object: string, key: string): string {
  if (key === '' || key.includes('.')) return '.';
  return object === '' ? key : `${object}.${key}`;
}

function isIn({ bag, apart = [] }: PlainBag, object: string): boolean {
  return bag === object || apart.includes(object);
}

function isUnusualName(target: Target, name: string): boolean {
  return name === '__proto__' || (target === 'properties' && unusualProperties.has(name));
}

/** An object that is gathered, and stands where it stands in the properties. */
function groupAt(object: number, target: Target, key: string, given: string | null | undefined): KeyMeaning['group'] {
  if (object < 0 || target !== 'properties' || given !== undefined) return undefined;
  return key === '$set' || key === '$set_once' ? key : undefined;
}

function fieldsAt(sources: readonly Source[], path: string): KeyMeaning['fields'] {
  return sources.flatMap(({ step }, list) =>
    'members' in step
      ? Object.values(step.members).flatMap((from, index) => (from === path ? [{ list, index }] : []))
      : [],
  );
}

function bytesOf(values: readonly unknown[] = []): readonly Buffer[] {
  return values.map((value) => Buffer.from(JSON.stringify(value)));
}

function numbered(names: readonly string[]): ReadonlyMap<string, number> {
  return new Map([...new Set(names)].map((name, index) => [name, index]));
}
