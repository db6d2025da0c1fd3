import { currentProperties, initialProperties } from '../../../formats/add-person-of-event.ts';
import type { PlainBag, PlainDerived, PlainIdPart, PlainList, PlainMembers, PlainTable } from './plain-table.ts';
import { normalisedTexts } from '../../../formats/normalise-properties.ts';
import type { UnmappedNames } from '../segment/find-unmapped.ts';
import {
  createNameNumbers,
  isUnusualKey,
  unusualKey,
  type KeyMeaning,
  type MeaningOf,
  type NameNumbers,
} from './key-meaning.ts';

/** A table in which numbers replace names. */
export interface CompiledTable {
  /** Objects whose members are read; the record comes first. */
  readonly objects: readonly CompiledObject[];
  readonly pairs: readonly CompiledPairs[];
  /** Lists of written members: those of the steps in their order, then those of the person. */
  readonly lists: readonly CompiledList[];
  readonly names: NameNumbers;
  /** Whether values stay as they are. */
  readonly isNormalised: boolean;
  /** Whether the name of a property is counted as unmapped. */
  readonly isUnmapped: (name: string) => boolean;
  /** Returns the number of the member at a path; -1 if it is not read. */
  readonly memberOf: (path: string) => number;
  readonly members: number;
  /** Returns the number of a property; -1 if it is not read. */
  readonly propertyOf: (name: string) => number;
  readonly properties: number;
}

export interface CompiledObject {
  /** Called with keys for which `isUnusualKey` is false. */
  readonly meaningOf: MeaningOf;
  readonly mayBeText: boolean;
  /** Whether an empty text counts as no object. */
  readonly mayBeEmpty: boolean;
  readonly isNeeded: boolean;
}

export interface CompiledPairs {
  readonly meaningOf: MeaningOf;
  readonly isNeeded: boolean;
}

/** The object that receives properties: that of the event, or one in it. */
export type Target = 'properties' | '$set' | '$set_once';

export interface CompiledList {
  readonly target: Target;
  /** Whether it overrides names of earlier lists of the target; otherwise a record with a name in both is unusual. */
  readonly wins: boolean;
  /** For separate members: whether anything but a text makes the record unusual. */
  readonly areTexts: boolean;
  readonly areNeeded: boolean;
  /** Applies only if this member has this value. */
  readonly only: { readonly member: number; readonly is: Buffer } | undefined;
  /** Separate members in their order; `undefined` for the members of an object. */
  readonly fields: readonly KeyMeaning[] | undefined;
}

/** Properties that the run or the store adds, or that change how an event is processed. */
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

export const urlProperties = { url: '$current_url', host: '$host', path: '$pathname' } as const;
export const countryName = '$geoip_country_name';
export const countryCode = '$geoip_country_code';
/** Properties that are usual with some values only. */
export const checkedProperties = {
  noGeoip: '$geoip_disable',
  groups: '$groups',
  profile: '$process_person_profile',
} as const;

/** Whether a step writes a list. */
export function isListed<Step extends object>(step: Step | string): step is Exclude<Step, PlainDerived> {
  return typeof step === 'object' && !('make' in step);
}

/** Names that a fragment must not contain, because their values need checks. */
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
  const outputOf = (target: Target, name: string): Pick<KeyMeaning, 'property' | 'output' | 'name' | 'unmapped'> => {
    const isOwn = target === 'properties';
    return {
      property: isOwn ? (properties.get(name) ?? -1) : -1,
      output: Buffer.from(`${JSON.stringify(name)}:`),
      name: names.numberOf(target, name),
      unmapped: isOwn && unmapped.isProperty(name) ? name : undefined,
    };
  };
  const fieldOf = (name: string, { nothing }: PlainMembers, target: Target): KeyMeaning => ({
    ...plainKey,
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
    isNormalised: table.isNormalised === true,
    isUnmapped: (name) => unmapped.isProperty(name),
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

/** The source of a list. */
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
  readonly outputOf: (target: Target, name: string) => Pick<KeyMeaning, 'property' | 'output' | 'name' | 'unmapped'>;
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

/** Returns `properties` for `properties.time`. */
function objectOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('.')));
}

function pairsOf({ sources, outputOf, names }: Compiling): readonly CompiledPairs[] {
  return sources.flatMap(({ step, target }, list) => {
    if (!('pairs' in step)) return [];
    const meaningOfPair = (key: string): KeyMeaning => {
      const given = step.names.get(key);
      const ownKey = names.numberOf(`in ${step.pairs}`, key);
      if (given === null) return { ...plainKey, isUnusual: ownKey < 0, ownKey, ownName: ownKey };
      const output = outputOf(target, given ?? key);
      return {
        ...plainKey,
        ...output,
        isUnusual: ownKey < 0 || output.name < 0 || isUnusualName(target, key) || isUnusualName(target, given ?? key),
        ownKey,
        ownName: ownKey,
        list,
        isOfPerson: target !== 'properties',
        nothing: bytesOf(step.nothing),
      };
    };
    return [{ meaningOf: meaningOfPair, isNeeded: step.isNeeded === true }];
  });
}

const plainKey: KeyMeaning = { ...unusualKey, isUnusual: false };

function meaningOf(compiling: Compiling, objects: readonly string[], object: string, key: string): KeyMeaning {
  const { table, sources, members, names } = compiling;
  const path = pathOf(object, key);
  const ownKey = names.numberOf(`in ${object}`, key);
  const known = {
    ...plainKey,
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
    const isIgnored =
      object !== '' ||
      table.ignores === 'all' ||
      table.ignores?.has(key) === true ||
      known.object >= 0 ||
      known.member >= 0 ||
      known.pairs >= 0 ||
      known.fields.length > 0;
    return { ...known, isUnusual: known.isUnusual || !isIgnored };
  }
  for (const { bag, list, target, takes } of bags) {
    if (bag.apart?.includes(path) === true) return known;
    const source = object === bag.bag ? key : `${object.replaceAll('.', '_')}_${key}`;
    const given = bag.names.get(source);
    const name = given === undefined ? source : given;
    // Each member of a flattened object has its own name.
    if (name === null) return { ...known, rejectsObjects: bag.apart !== undefined };
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
      rejectsObjects: bag.apart !== undefined,
      isOfPerson: group !== undefined || target !== 'properties',
      nothing: bytesOf(bag.nothing),
    };
  }
  return { ...known, isUnusual: true };
}

/** Returns a path that leads nowhere for a name that paths cannot express. */
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

/** Returns the group of an object whose collected properties are written at its position. */
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
