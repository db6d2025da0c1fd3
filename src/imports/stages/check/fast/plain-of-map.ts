import { isObject } from '../../../../base/json.ts';
import type {
  PersonStep as PlainPersonStep,
  PlainDerived,
  PlainIdPart,
  PlainList,
  PlainStep,
  PlainTable,
  PlainUuid,
} from './plain-table.ts';
import { setMember, type Properties } from '../../../formats/read-values.ts';
import type { Derived, IdPart, PersonStep, RecordMap, Source, Step } from '../../../formats/record-map.ts';

/** Translates a map to the declaration of the converter; `undefined` if the converter handles none of its records. */
export function plainOf(map: RecordMap): PlainTable | undefined {
  const { usual, source, isNormalised, person = [] } = map;
  if (usual === undefined || map.finish !== undefined || isUnsupported(map)) return undefined;
  return {
    source,
    event: map.event.from,
    eventName: eventNamer(map),
    time: plainTime(map),
    ids: { paths: map.ids.from, read: identityReader(map) },
    uuid: plainUuid(map),
    properties: [...guards(map), ...map.properties.flatMap((step) => plainStep(step, map))],
    person: person.flatMap((step) => plainPersonStep(step, map)),
    ...(usual.ignores && { ignores: usual.ignores }),
    ...(usual.texts && { texts: new Set(usual.texts) }),
    ...(usual.lacks && { unusual: usual.lacks }),
    ...(isNormalised && { isNormalised: isNormalised }),
    identify: map.links,
  };
}

/** Whether the converter cannot express a step. */
function isUnsupported({ properties, person = [] }: RecordMap): boolean {
  return [...properties, ...person].some((step) => {
    if (typeof step !== 'object') return false;
    if ('renames' in step) return step.renames.size > 0;
    return 'bag' in step && step.prefix !== undefined;
  });
}

/** Calls a function of the map with the values of the members that it reads. */
function onValues<Answer>(
  { usual }: RecordMap,
  from: readonly string[],
  read: (record: Properties) => Answer,
): (values: readonly unknown[]) => Answer {
  const record = recordOf(from, usual?.nothing);
  return (values) => read(record(values));
}

function plainTime(map: RecordMap): PlainTable['time'] {
  const { form, from, read } = map.time;
  return form === undefined ? { from, read: onValues(map, from, read) } : { ...form, numbers: form.numbers };
}

function eventNamer(map: RecordMap): PlainTable['eventName'] {
  const { from, read, verbs, named } = map.event;
  const recordFor = recordOf(from, map.usual?.nothing);
  return (values) => {
    const record = recordFor(values);
    const name = read(record);
    if (typeof name !== 'string' || verbs?.names.has(name) === true) return undefined;
    const given = named(name, record);
    // A skipped event is counted under its first member.
    return given === null && name !== values[0] ? undefined : given;
  };
}

function identityReader(map: RecordMap): PlainTable['ids']['read'] {
  const { ids } = map;
  return onValues(map, ids.from, (record) => {
    const identity = ids.read(record);
    if ('kind' in identity || identity.isPlaceholderId === true || identity.distinctId === undefined) return undefined;
    const { distinctId, user, device, isUnlinked } = identity;
    const properties: Properties = {};
    ids.add?.(properties, identity, record);
    const isLinked = user !== undefined && device !== undefined && isUnlinked !== true;
    return { distinctId, link: isLinked ? { user, device } : undefined, properties };
  });
}

function plainUuid(map: RecordMap): PlainUuid {
  const { uuid } = map;
  switch (uuid.is) {
    case 'content':
    case 'uuid':
      return uuid;
    case 'parts': {
      const { is, namespace, mayBeUuid } = uuid;
      const [first = [], ...rest] = uuid.parts.map((part) => plainParts(part, map));
      return { is, namespace, parts: [...first, ...rest.flat()], ...(mayBeUuid && { mayBeUuid: first.length }) };
    }
    case 'name': {
      const { is, path, namespace, occurrences, otherwise } = uuid;
      return {
        is,
        path,
        namespace,
        ...(occurrences && { occurrences }),
        ...(typeof otherwise === 'object' && otherwise.textOf === undefined && { otherwise }),
      };
    }
  }
}

function plainParts(part: IdPart, map: RecordMap): readonly PlainIdPart[] {
  if (part === 'time') return [part];
  if (part === 'name') return [{ from: map.event.from, make: onValues(map, map.event.from, textOr(map.event.read)) }];
  if (part === 'distinct_id') {
    const read = identityReader(map);
    return [{ from: map.ids.from, make: (values) => read(values)?.distinctId }];
  }
  if (!('read' in part)) return [part];
  if (part.pieces === undefined) return [{ from: part.from, make: onValues(map, part.from, part.read) }];
  return part.pieces.map((piece) => ('path' in piece ? { ...piece, isNeeded: true } : piece));
}

function textOr(read: (record: Properties) => unknown): (record: Properties) => string | undefined {
  return (record) => {
    const found = read(record);
    return typeof found === 'string' ? found : undefined;
  };
}

/** Makes records unusual to which a hook applies. */
function guards(map: RecordMap): readonly PlainDerived[] {
  const { order, additional } = map;
  const checks = order.flatMap((check) =>
    typeof check === 'object' ? [guard(map, check.from, (record) => check.read(record) === undefined)] : [],
  );
  return additional === undefined ? checks : [...checks, guard(map, additional.from, additional.isIdle)];
}

function guard(map: RecordMap, from: readonly string[], isUsual: (record: Properties) => boolean): PlainDerived {
  return { of: 'members', from, make: onValues(map, from, (record) => (isUsual(record) ? {} : undefined)) };
}

function plainStep(step: Step, map: RecordMap): readonly PlainStep[] {
  if (step === 'time') return [];
  if (typeof step === 'string') return [step];
  if ('run' in step) return [guard(map, step.from, step.isIdle)];
  return 'renames' in step ? [] : [plainSource(step, map)];
}

function plainPersonStep(step: PersonStep, map: RecordMap): readonly PlainPersonStep[] {
  if ('run' in step) return [{ ...guard(map, step.from, step.isIdle), into: '$set' }];
  if ('renames' in step) return [];
  const { into } = step;
  const source = plainSource(step, map);
  if (typeof into === 'string') return [{ ...source, into }];
  const nothing = [...('bag' in step ? (step.nothing ?? []) : []), ...into.nothing];
  return [{ ...source, into: '$set_once', takes: into.once, nothing } as PlainPersonStep, { ...source, into: '$set' }];
}

function plainSource(step: Source, map: RecordMap): PlainList | PlainDerived {
  const { has = [] } = map.usual ?? {};
  if ('add' in step) return plainDerived(step, map);
  if ('pairs' in step) return { ...step, ...(has.includes(step.pairs) && { isNeeded: true }) };
  if ('members' in step) {
    const { members, nothing, only, takes, otherwise } = step;
    return {
      members,
      ...(nothing && { nothing }),
      ...(only && { only }),
      ...(takes && { areTexts: true }),
      ...(otherwise && { areNeeded: true }),
    };
  }
  const { bag, names, without = [], nothing, taken, apart, mayBeText, keepsObjects } = step;
  return {
    bag,
    names: new Map([...names, ...Array.from(without, (name) => [name, null] as const)]),
    ...(nothing && { nothing }),
    ...(has.includes(bag) && { isNeeded: true }),
    ...(taken === 'replaces' && apart === undefined && { wins: true }),
    ...(apart && { apart }),
    ...(mayBeText && { mayBeText }),
    ...(keepsObjects && { keepsObjects }),
  };
}

function plainDerived({ of, from, add, isVaried, isUsual }: Derived, map: RecordMap): PlainDerived {
  const make = (found: Properties): Properties | undefined => {
    const properties: Properties = {};
    add(found, properties);
    return areGroupsTrimmed(properties['$groups']) && isUsual?.(properties) !== false ? properties : undefined;
  };
  return {
    of,
    from,
    make: of === 'members' ? onValues(map, from, make) : flat(from, make),
    ...(isVaried && { isVaried }),
  };
}

/** Property names are not paths. */
function flat<Answer>(
  names: readonly string[],
  make: (found: Properties) => Answer,
): (values: readonly unknown[]) => Answer {
  return (values) =>
    make(Object.fromEntries(names.flatMap((name, at) => (values[at] === undefined ? [] : [[name, values[at]]]))));
}

/** The reader counts group keys with surrounding white space. */
function areGroupsTrimmed(groups: unknown): boolean {
  return !isObject(groups) || Object.values(groups).every((key) => typeof key !== 'string' || key.trim() === key);
}

/**
 * Builds a record that contains only some members, for the functions of a map. Members inside another listed member are not added again.
 * `nothing` are texts that represent a missing value of a member of the record itself.
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
