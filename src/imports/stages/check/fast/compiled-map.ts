import { currentProperties, initialProperties } from '../../../formats/add-person-of-event.ts';
import { normalisedTexts } from '../../../formats/normalise-properties.ts';
import type { Properties } from '../../../formats/read-values.ts';
import type { Bag, Members, Pairs, PersonStep, RecordMap, Step } from '../../../formats/record-map.ts';
import type { UnmappedNames } from '../segment/find-unmapped.ts';
import {
  computed,
  computedIdentity,
  computedName,
  computedParts,
  computedProperties,
  guard,
  guards,
  type Computed,
  type ComputedIdentity,
  type ComputedName,
  type ComputedParts,
  type ComputedIdPart,
} from './computed.ts';
import {
  createNameNumbers,
  isUnusualKey,
  unusualKey,
  type KeyMeaning,
  type MeaningOf,
  type NameNumbers,
} from './key-meaning.ts';

/** A map as the converter needs it: names have numbers, and functions their inputs. */
export interface CompiledMap {
  readonly map: RecordMap;
  readonly name: Computed<ComputedName>;
  readonly identity: Computed<ComputedIdentity>;
  /** `undefined` if the map declares the form of times. */
  readonly time: Computed<string> | undefined;
  readonly uuidParts: ComputedParts;
  readonly steps: readonly CompiledStep[];
  /** Steps that write person properties. */
  readonly person: readonly CompiledPersonStep[];
  /** Objects whose members are read; the record comes first. */
  readonly objects: readonly CompiledObject[];
  readonly pairs: readonly CompiledPairs[];
  /** Lists of written members: those of the steps in their order, then those of the person. */
  readonly lists: readonly CompiledList[];
  readonly names: NameNumbers;
  /** Whether the name of a property is counted as unmapped. */
  readonly isUnmapped: (name: string) => boolean;
  /** Returns the number of the member at a path; -1 if it is not read. */
  readonly memberOf: (path: string) => number;
  readonly members: number;
  /** Returns the number of a property; -1 if it is not read. */
  readonly propertyOf: (name: string) => number;
  readonly properties: number;
}

/** A number is the index of a list. */
export type CompiledStep = 'ids' | 'person' | '$set' | number | Computed<Properties>;

export interface CompiledPersonStep {
  readonly target: '$set' | '$set_once';
  readonly step: number | Computed<Properties>;
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

/** Names that a fragment must not contain, because their values need checks. */
export function isUnusualInFragment(target: Target, name: string): boolean {
  return (
    isUnusualName(target, name) ||
    isUnusualKey(name) ||
    (target === 'properties' && (name === checkedProperties.noGeoip || name === checkedProperties.profile))
  );
}

/** Compiles a map; `undefined` if the converter handles none of its records. */
export function compileMap(map: RecordMap, unmapped: UnmappedNames): CompiledMap | undefined {
  if (map.usual === undefined || map.finish !== undefined || !isSupported(map)) return undefined;
  const { form, from, read } = map.time;
  const time = form === undefined ? computed(map, from, read) : undefined;
  const [name, identity] = [computedName(map), computedIdentity(map)];
  const { uuid } = map;
  const uuidParts = computedParts(map);
  const { steps, person, sources } = stepsOf(map);
  const derived = [name, identity, time, ...uuidParts.parts, ...steps, ...person.map(({ step }) => step)].filter(
    isComputed,
  );
  const inputs = (of: Computed<unknown>['of']): string[] =>
    derived.flatMap((each) => (each.of === of ? each.from : []));
  const members = numbered([
    ...inputs('members'),
    ...(form === undefined ? [] : [form.path]),
    ...('path' in uuid ? [uuid.path] : []),
    ...uuidParts.parts.flatMap((part) => (typeof part === 'object' && 'path' in part ? [part.path] : [])),
  ]);
  const properties = numbered([
    ...currentProperties,
    ...initialProperties,
    ...normalisedTexts.keys(),
    ...Object.values(urlProperties),
    ...Object.values(checkedProperties),
    countryName,
    countryCode,
    ...inputs('properties'),
  ]);
  const names = createNameNumbers();
  const outputOf = (target: Target, name: string): Output => {
    const isOwn = target === 'properties';
    return {
      property: isOwn ? (properties.get(name) ?? -1) : -1,
      output: Buffer.from(`${JSON.stringify(name)}:`),
      name: names.numberOf(target, name),
      unmapped: isOwn && unmapped.isProperty(name) ? name : undefined,
    };
  };
  const compiling = { map, sources, members, names, outputOf };
  return {
    map,
    name,
    identity,
    time,
    uuidParts,
    steps,
    person,
    objects: objectsOf(compiling),
    pairs: pairsOf(compiling),
    lists: sources.map((source) => listOf(compiling, source)),
    names,
    isUnmapped: (property) => unmapped.isProperty(property),
    memberOf: (path) => members.get(path) ?? -1,
    members: members.size,
    propertyOf: (property) => properties.get(property) ?? -1,
    properties: properties.size,
  };
}

/** Whether the converter can execute every step. */
function isSupported({ properties, person = [] }: RecordMap): boolean {
  return [...properties, ...person].every((step) => {
    if (typeof step !== 'object') return true;
    if ('renames' in step) return step.renames.size === 0;
    return !('bag' in step) || step.prefix === undefined;
  });
}

function isComputed(each: CompiledStep | ComputedIdPart | Computed<unknown> | undefined): each is Computed<never> {
  return typeof each === 'object' && 'read' in each;
}

/** The source of a list. */
interface Source {
  readonly step: Bag | Members | Pairs;
  readonly target: Target;
  readonly wins: boolean;
  /** Selects properties; by default all that no earlier source selects. */
  readonly takes?: (name: string) => boolean;
}

function stepsOf(map: RecordMap): Pick<CompiledMap, 'steps' | 'person'> & { readonly sources: readonly Source[] } {
  const sources: Source[] = [];
  const add = (source: Source): number => sources.push(source) - 1;
  const compileStep = (step: Step): readonly CompiledStep[] => {
    if (step === 'time') return [];
    if (typeof step === 'string') return [step];
    if ('run' in step) return [guard(map, step.from, step.isIdle)];
    if ('renames' in step) return [];
    if ('add' in step) return [computedProperties(step, map)];
    const wins = 'bag' in step && step.taken === 'replaces' && step.apart === undefined;
    return [add({ step, target: 'properties', wins })];
  };
  const compilePersonStep = (step: PersonStep): readonly CompiledPersonStep[] => {
    if ('run' in step) return [{ target: '$set', step: guard(map, step.from, step.isIdle) }];
    if ('renames' in step) return [];
    if ('add' in step) return [{ target: step.into, step: computedProperties(step, map) }];
    const target = step.into;
    if (typeof target === 'string') return [{ target, step: add({ step, target, wins: true }) }];
    // Sound: only a bag is split.
    const bag = step as Bag;
    const once = { ...bag, nothing: [...(bag.nothing ?? []), ...target.nothing] };
    return [
      { target: '$set_once', step: add({ step: once, target: '$set_once', wins: true, takes: target.once }) },
      { target: '$set', step: add({ step: bag, target: '$set', wins: true }) },
    ];
  };
  const steps = [...guards(map), ...map.properties.flatMap(compileStep)];
  return { steps, person: (map.person ?? []).flatMap(compilePersonStep), sources };
}

type Output = Pick<KeyMeaning, 'property' | 'output' | 'name' | 'unmapped'>;

interface Compiling {
  readonly map: RecordMap;
  readonly sources: readonly Source[];
  readonly members: ReadonlyMap<string, number>;
  readonly names: NameNumbers;
  readonly outputOf: (target: Target, name: string) => Output;
}

function listOf({ members, outputOf }: Compiling, { step, target, wins }: Source): CompiledList {
  const list = { target, wins, areTexts: false, areNeeded: false, only: undefined, fields: undefined };
  if (!('members' in step)) return list;
  const { only, nothing, takes, otherwise } = step;
  const fieldOf = (name: string): KeyMeaning => ({
    ...plainKey,
    ...outputOf(target, name),
    isKept: true,
    isUnusual: unusualProperties.has(name),
    isOfPerson: target !== 'properties',
    nothing: bytesOf(nothing),
  });
  return {
    ...list,
    areTexts: takes !== undefined,
    areNeeded: otherwise !== undefined,
    only: only && { member: members.get(only.path) ?? -1, is: Buffer.from(JSON.stringify(only.is)) },
    fields: Object.keys(step.members).map(fieldOf),
  };
}

function objectsOf(compiling: Compiling): readonly CompiledObject[] {
  const { map, sources, members } = compiling;
  const { has = [], texts = [] } = map.usual ?? {};
  const bags = sources.flatMap(({ step }) => ('bag' in step ? [step] : []));
  const fields = sources.flatMap(({ step }) => ('members' in step ? Object.values(step.members) : []));
  const lists = sources.flatMap(({ step }) => ('pairs' in step ? [step.pairs] : []));
  const inPaths = [...members.keys(), ...fields, ...lists].map(objectOf);
  const paths = [...new Set(['', ...bags.flatMap(({ bag, apart = [] }) => [bag, ...apart]), ...inPaths])];
  const within = paths.flatMap((path) => path.split('.').map((_, at, steps) => steps.slice(0, at + 1).join('.')));
  const objects = [...new Set([...paths, ...within])];
  return objects.map((path) => ({
    meaningOf: (key) => meaningOf(compiling, objects, path, key),
    mayBeText: texts.includes(path) || bags.some(({ bag, mayBeText }) => bag === path && mayBeText),
    mayBeEmpty: texts.includes(path),
    isNeeded: has.includes(path) && bags.some(({ bag }) => bag === path),
  }));
}

/** Returns `properties` for `properties.time`. */
function objectOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('.')));
}

function pairsOf({ map, sources, outputOf, names }: Compiling): readonly CompiledPairs[] {
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
    return [{ meaningOf: meaningOfPair, isNeeded: map.usual?.has?.includes(step.pairs) === true }];
  });
}

const plainKey: KeyMeaning = { ...unusualKey, isUnusual: false };

function meaningOf(compiling: Compiling, objects: readonly string[], object: string, key: string): KeyMeaning {
  const { sources, members, names } = compiling;
  const { ignores, lacks } = compiling.map.usual ?? {};
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
    isUnusual: ownKey < 0 || (object === '' && lacks?.has(key) === true),
  };
  const bags = sources.flatMap((source, list) =>
    'bag' in source.step && isIn(source.step, object) ? [{ ...source, bag: source.step, list }] : [],
  );
  if (bags.length === 0) {
    const isIgnored =
      object !== '' ||
      ignores === 'all' ||
      ignores?.has(key) === true ||
      known.object >= 0 ||
      known.member >= 0 ||
      known.pairs >= 0 ||
      known.fields.length > 0;
    return { ...known, isUnusual: known.isUnusual || !isIgnored };
  }
  for (const { bag, list, target, takes } of bags) {
    if (bag.apart?.includes(path) === true) return known;
    const source = object === bag.bag ? key : `${object.replaceAll('.', '_')}_${key}`;
    const given = bag.without?.has(source) === true ? null : bag.names.get(source);
    const name = given === undefined ? source : given;
    // Each member of a flattened object has its own name.
    if (name === null) return { ...known, rejectsObjects: bag.apart !== undefined };
    if (takes?.(name) === false) continue;
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

function isIn({ bag, apart = [] }: Bag, object: string): boolean {
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
