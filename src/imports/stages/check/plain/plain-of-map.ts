import { isObject } from '../../../../base/json.ts';
import type {
  PersonStep as PlainPersonStep,
  PlainDerived,
  PlainIdPart,
  PlainList,
  PlainStep,
  PlainTable,
  PlainUuid,
} from '../../../formats/plain-table.ts';
import type { Properties } from '../../../formats/read-values.ts';
import type { Derived, IdPart, PersonStep, RecordMap, Source, Step, UuidRule } from '../../../formats/record-map.ts';
import { recordOf } from './record-of.ts';

/** What a map says of usual records, in the terms of the machine; undefined: it takes none. */
export function plainOf(map: RecordMap): PlainTable | undefined {
  const { usual, source, isSettled, person = [] } = map;
  if (usual === undefined || map.finish !== undefined || isBeyondMachine(map)) return undefined;
  return {
    source,
    event: map.event.from,
    eventName: eventNamer(map),
    time: plainTime(map),
    ids: { paths: map.ids.from, read: identityReader(map) },
    uuid: plainUuid(map.uuid),
    properties: [...guards(map), ...map.properties.flatMap((step) => plainStep(step, usual))],
    person: person.flatMap((step) => plainPersonStep(step, usual)),
    ...(usual.ignores && { silent: usual.ignores }),
    ...(usual.texts && { texts: new Set(usual.texts) }),
    ...(usual.lacks && { odd: usual.lacks }),
    ...(isSettled && { isSettled }),
    identify: map.links,
  };
}

/** Whether a step says what the machine has no word for. */
function isBeyondMachine({ properties, person = [] }: RecordMap): boolean {
  return [...properties, ...person].some((step) => {
    if (typeof step !== 'object') return false;
    if ('renames' in step) return step.renames.size > 0;
    return 'bag' in step && step.prefix !== undefined;
  });
}

function plainTime({ time: { form, from, read } }: RecordMap): PlainTable['time'] {
  return form === undefined ? { from, read: asking(from, read) } : { ...form, numbers: form.numbers };
}

function asking<Answer>(
  from: readonly string[],
  read: (record: Properties) => Answer,
): (values: readonly unknown[]) => Answer {
  const record = recordOf(from);
  return (values) => read(record(values));
}

function eventNamer({ event }: RecordMap): PlainTable['eventName'] {
  const recordFor = recordOf(event.from);
  return (values) => {
    const record = recordFor(values);
    const name = event.read(record);
    if (typeof name !== 'string' || event.verbs?.names.has(name) === true) return undefined;
    const named = event.named(name, record);
    // By its first member an event is called that is skipped.
    return named === null && name !== values[0] ? undefined : named;
  };
}

function identityReader({ ids }: RecordMap): PlainTable['ids']['read'] {
  return asking(ids.from, (record) => {
    const identity = ids.read(record);
    if ('kind' in identity || identity.isNobody === true || identity.distinctId === undefined) return undefined;
    const { distinctId, user, device, isUnlinked } = identity;
    const properties: Properties = {};
    ids.add?.(properties, identity, record);
    const isLinked = user !== undefined && device !== undefined && isUnlinked !== true;
    return { distinctId, link: isLinked ? { user, device } : undefined, properties };
  });
}

function plainUuid(uuid: UuidRule): PlainUuid {
  switch (uuid.is) {
    case 'content':
    case 'uuid':
      return uuid;
    case 'parts':
      return { ...uuid, parts: uuid.parts.map(plainPart) };
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

function plainPart(part: IdPart): PlainIdPart {
  return typeof part === 'object' && 'read' in part ? { from: part.from, make: asking(part.from, part.read) } : part;
}

/** Records for which a hook has something to do are unusual. */
function guards({ order, beside }: RecordMap): readonly PlainDerived[] {
  const checks = order.flatMap((check) =>
    typeof check === 'object' ? [guard(check.from, (record) => check.read(record) === undefined)] : [],
  );
  return beside === undefined ? checks : [...checks, guard(beside.from, beside.isIdle)];
}

function guard(from: readonly string[], isUsual: (record: Properties) => boolean): PlainDerived {
  return { of: 'members', from, make: asking(from, (record) => (isUsual(record) ? {} : undefined)) };
}

function plainStep(step: Step, usual: Usual): readonly PlainStep[] {
  if (step === 'time') return [];
  if (typeof step === 'string') return [step];
  if ('run' in step) return [guard(step.from, step.isIdle)];
  return 'renames' in step ? [] : [plainSource(step, usual)];
}

function plainPersonStep(step: PersonStep, usual: Usual): readonly PlainPersonStep[] {
  if ('run' in step) return [{ ...guard(step.from, step.isIdle), into: '$set' }];
  if ('renames' in step) return [];
  const { into } = step;
  const source = plainSource(step, usual);
  if (typeof into === 'string') return [{ ...source, into }];
  const nothing = [...('bag' in step ? (step.nothing ?? []) : []), ...into.nothing];
  return [{ ...source, into: '$set_once', takes: into.once, nothing } as PlainPersonStep, { ...source, into: '$set' }];
}

type Usual = NonNullable<RecordMap['usual']>;

function plainSource(step: Source, { has = [] }: Usual): PlainList | PlainDerived {
  if ('add' in step) return plainDerived(step);
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

function plainDerived({ of, from, add, isVaried }: Derived): PlainDerived {
  const make = (found: Properties): Properties | undefined => {
    const properties: Properties = {};
    add(found, properties);
    return areGroupsTrimmed(properties['$groups']) ? properties : undefined;
  };
  return { of, from, make: of === 'members' ? asking(from, make) : flat(from, make), ...(isVaried && { isVaried }) };
}

/** Names of properties are no paths. */
function flat<Answer>(
  names: readonly string[],
  make: (found: Properties) => Answer,
): (values: readonly unknown[]) => Answer {
  return (values) =>
    make(Object.fromEntries(names.flatMap((name, at) => (values[at] === undefined ? [] : [[name, values[at]]]))));
}

/** Keys with white space around them are counted. */
function areGroupsTrimmed(groups: unknown): boolean {
  return !isObject(groups) || Object.values(groups).every((key) => typeof key !== 'string' || key.trim() === key);
}
