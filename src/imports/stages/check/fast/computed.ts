import { isObject } from '../../../../base/json.ts';
import type { Derived, IdPart, RecordMap } from '../../../formats/record-map.ts';
import { setMember, type Properties } from '../../../formats/read-values.ts';

/** A value that the functions of a map derive from some values of a record. */
export interface Computed<Value> {
  readonly of: 'members' | 'properties';
  /** Paths of members, or names of properties. */
  readonly from: readonly string[];
  /** Returns `undefined` if the record is unusual. */
  readonly read: (values: readonly unknown[]) => Value | undefined;
  /** Many different values are expected. */
  readonly isVaried?: true;
}

/** Calls a function of the map with a record of only the members that it reads. */
export function computed<Value>(
  { usual }: RecordMap,
  from: readonly string[],
  read: (record: Properties) => Value | undefined,
): Computed<Value> {
  const record = recordOf(from, usual?.nothing);
  return { of: 'members', from, read: (values) => read(record(values)) };
}

/** The name of an event; its name in the source if the name table skips it. */
export interface ComputedName {
  readonly name: string;
  readonly isSkipped: boolean;
}

export function computedName(map: RecordMap): Computed<ComputedName> {
  const { from, read, verbs, named } = map.event;
  return computed(map, from, (record) => {
    const name = read(record);
    if (typeof name !== 'string' || verbs?.names.has(name) === true) return undefined;
    const given = named(name, record);
    return { name: given ?? name, isSkipped: given === null };
  });
}

/** The person of an event. */
export interface ComputedIdentity {
  readonly distinctId: string;
  /** Ids to link. */
  readonly link: { readonly user: string; readonly device: string } | undefined;
  /** Properties written by the step `ids`. */
  readonly properties: Properties;
}

export function computedIdentity(map: RecordMap): Computed<ComputedIdentity> {
  const { ids, links } = map;
  return computed(map, ids.from, (record) => {
    const identity = ids.read(record);
    if ('kind' in identity || identity.isPlaceholderId === true || identity.distinctId === undefined) return undefined;
    const { distinctId, user, device, isUnlinked } = identity;
    const properties: Properties = {};
    ids.add?.(properties, identity, record);
    const isLinked =
      links !== undefined && user !== undefined && device !== undefined && user !== device && isUnlinked !== true;
    return { distinctId, link: isLinked ? { user, device } : undefined, properties };
  });
}

export type ComputedIdPart =
  | 'time'
  | { readonly text: string }
  /** An id. `isNeeded` makes a record without it unusual. */
  | { readonly path: string; readonly isNeeded?: true }
  | Computed<string>;

/** The parts of a uuid; the first ones may together be a UUID. */
export interface ComputedParts {
  readonly parts: readonly ComputedIdPart[];
  readonly firstParts: number;
}

export function computedParts(map: RecordMap): ComputedParts {
  const { uuid } = map;
  if (uuid.is !== 'parts') return { parts: [], firstParts: 0 };
  const [first = [], ...others] = uuid.parts.map((part) => partsOf(part, map));
  return { parts: [...first, ...others.flat()], firstParts: uuid.mayBeUuid === true ? first.length : 0 };
}

function partsOf(part: IdPart, map: RecordMap): readonly ComputedIdPart[] {
  if (part === 'time') return [part];
  if (part === 'name') {
    const { from, read } = map.event;
    const text = (found: ReturnType<typeof read>): string | undefined =>
      typeof found === 'string' ? found : undefined;
    return [computed(map, from, (record) => text(read(record)))];
  }
  if (part === 'distinct_id') {
    const { read, ...identity } = computedIdentity(map);
    return [{ ...identity, read: (values) => read(values)?.distinctId }];
  }
  if (!('read' in part)) return [part];
  if (part.pieces === undefined) return [computed(map, part.from, part.read)];
  return part.pieces.map((piece) => ('path' in piece ? { ...piece, isNeeded: true } : piece));
}

/** Makes records unusual to which checks and the hook `additional` apply. */
export function guards(map: RecordMap): readonly Computed<Properties>[] {
  const { order, additional } = map;
  const checks = order.flatMap((check) =>
    typeof check === 'object' ? [guard(map, check.from, (record) => check.read(record) === undefined)] : [],
  );
  return additional === undefined ? checks : [...checks, guard(map, additional.from, additional.isIdle)];
}

/** Makes records unusual for which `isUsual` is false; it adds no properties. */
export function guard(
  map: RecordMap,
  from: readonly string[],
  isUsual: (record: Properties) => boolean,
): Computed<Properties> {
  return computed(map, from, (record) => (isUsual(record) ? {} : undefined));
}

export function computedProperties(
  { of, from, add, isVaried, isUsual }: Derived,
  map: RecordMap,
): Computed<Properties> {
  const make = (found: Properties): Properties | undefined => {
    const properties: Properties = {};
    add(found, properties);
    return areGroupsTrimmed(properties['$groups']) && isUsual?.(properties) !== false ? properties : undefined;
  };
  const varied = isVaried && { isVaried };
  if (of === 'members') return { ...computed(map, from, make), ...varied };
  // Property names are not paths.
  const found = (values: readonly unknown[]): Properties =>
    Object.fromEntries(from.flatMap((name, at) => (values[at] === undefined ? [] : [[name, values[at]]])));
  return { of, from, read: (values) => make(found(values)), ...varied };
}

/** Whether group keys have no surrounding white space, which the reader counts. */
export function areGroupsTrimmed(groups: unknown): boolean {
  return !isObject(groups) || Object.values(groups).every((key) => typeof key !== 'string' || key.trim() === key);
}

/**
 * Builds a record that contains only some members. Members inside another listed member are not added again. `nothing` are texts that
 * represent a missing value of a member of the record itself.
 */
function recordOf(
  paths: readonly string[],
  nothing: ReadonlySet<string> = new Set(),
): (values: readonly unknown[]) => Properties {
  const places = paths.map((path, index) => ({ steps: path.split('.'), index }));
  const outer = places.filter(
    ({ steps }) => !steps.some((_, at) => at > 0 && paths.includes(steps.slice(0, at).join('.'))),
  );
  return (values) => {
    const record: Properties = {};
    for (const { steps, index } of outer) {
      const value = values[index];
      const isNothing = steps.length === 1 && typeof value === 'string' && nothing.has(value);
      if (value !== undefined && !isNothing) putAt(record, steps, value);
    }
    return record;
  };
}

function putAt(target: Properties, [first = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) return setMember(target, first, value);
  const inner: Properties =
    isObject(target[first]) && Object.hasOwn(target, first) ? (target[first] as Properties) : {};
  setMember(target, first, inner);
  putAt(inner, rest, value);
}
