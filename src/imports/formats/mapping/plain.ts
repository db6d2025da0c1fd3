import { namespaceOf, partsSeparator } from '../derived-uuids.ts';
import type { EventWriter } from '../event-writer.ts';
import type { Names } from '../names.ts';
import type {
  PlainDerived,
  PlainIdentity,
  PlainIdPart,
  PlainMembers,
  PlainTable,
  PlainTime,
  PlainUuid,
} from '../plain-table.ts';
import { isNobody } from '../../../base/nobody-ids.ts';
import { idOf, setMember, type Json, type Properties } from '../read-values.ts';
import { settledTexts } from '../settle-properties.ts';
import { utc } from '../times.ts';
import type { BagRule } from './bag-rule.ts';
import { groupsOf } from './groups.ts';
import type { Rules } from './rules.ts';
import type { ValueRule } from './value-rule.ts';

export interface Context {
  readonly rules: Rules;
  readonly writer: EventWriter;
  readonly properties: Names;
  readonly person: Names;
}

/**
 * Rules as a table: paths are found where they stand, and what is more than a path is asked of the rule itself, which reads nothing
 * but its columns. Undefined: there are rules of which a table cannot tell.
 */
export function mappingPlain({ rules, writer, properties, person }: Context): PlainTable | undefined {
  const { uuid, set, setOnce, skip } = rules;
  const isRenamed = properties.size > 0 || person.size > 0;
  const bags = [rules.properties, set, setOnce];
  if (rules.groupSet !== undefined || isRenamed || !bags.every(isInOrder)) return undefined;
  // What stands for nothing is no part of the content.
  if (uuid === undefined && rules.nothing.size > 0) return undefined;
  const ask = askerOf(rules.nothing);
  const paths = pathsOf(rules);
  const dotted = paths.filter((path) => path.includes('.'));
  return {
    source: 'mapping',
    ...eventOf(rules, writer, ask),
    time: timeOf(rules, ask),
    ids: identityOf(rules, ask),
    uuid: uuid === undefined ? writer.contentUuid : uuidOf(rules, uuid, ask),
    properties: [
      ...skip.map(({ matches, columns }) =>
        derived(columns, ask(columns, matches), (isSkipped) => (isSkipped ? undefined : {})),
      ),
      ...bagSteps(rules.properties, rules.nothing, ask, ownPropertyOf),
      ...(rules.others ? [othersOf(rules)] : []),
      '$set',
      derived(
        rules.groups.columns,
        ask(rules.groups.columns, (record) => groupsOf(rules.groups, record)),
        groupProperty,
      ),
    ],
    person: [
      ...bagSteps(set, rules.nothing, ask).map((step) => Object.assign({ into: '$set' as const }, step)),
      ...bagSteps(setOnce, rules.nothing, ask).map((step) => Object.assign({ into: '$set_once' as const }, step)),
    ],
    silent: 'all',
    // A column whose name is the whole path comes before what the path leads to.
    odd: new Set(dotted),
    texts: new Set(dotted.flatMap(objectsOn)),
    identify: rules.anonymousId === undefined ? undefined : writer.identify,
  };
}

/** Asks a rule by the values of its columns. */
type Ask = <Answer>(
  columns: readonly string[],
  read: (record: Json) => Answer,
) => (values: readonly unknown[]) => Answer;

/** A record of these columns alone says to a rule what the whole record says. */
function askerOf(nothing: Rules['nothing']): Ask {
  return (columns, read) => (values) => {
    const record: Properties = {};
    for (const [index, column] of columns.entries()) {
      const value = values[index];
      const isNothing = typeof value === 'string' && !column.includes('.') && nothing.has(value);
      if (value !== undefined && !isNothing) setMember(record, column, value);
    }
    return read(record);
  };
}

function derived<Answer>(
  from: readonly string[],
  read: (values: readonly unknown[]) => Answer,
  make: (answer: Answer) => Properties | undefined,
): PlainDerived {
  return { of: 'members', from, make: (values) => make(read(values)) };
}

function eventOf({ event }: Rules, writer: EventWriter, ask: Ask): Pick<PlainTable, 'event' | 'eventName'> {
  const read = ask(event.columns, event.read);
  return {
    event: event.columns,
    eventName: (values) => {
      const name = idOf(read(values));
      const given = name === undefined ? undefined : writer.eventName(name);
      // By its first column an event is called that is left out.
      return given === null && name !== values[0] ? undefined : given;
    },
  };
}

function identityOf({ distinctId, anonymousId }: Rules, ask: Ask): PlainTable['ids'] {
  const paths = [...distinctId.columns, ...(anonymousId?.columns ?? [])];
  const readId = ask(paths, distinctId.read);
  const readDevice = ask(paths, (record) => anonymousId?.read(record));
  return {
    paths,
    read: (values): PlainIdentity | undefined => {
      const id = idOf(readId(values));
      if (id === undefined || isNobody(id)) return undefined;
      const device = idOf(readDevice(values));
      const link = device === undefined || isNobody(device) ? undefined : { user: id, device };
      return { distinctId: id, link, properties: {} };
    },
  };
}

function timeOf({ timestamp: { value, readTime, form } }: Rules, ask: Ask): PlainTime {
  const path = value.form !== undefined && 'path' in value.form ? value.form.path : undefined;
  if (path === undefined || form === undefined || form.is === 'ns') {
    return { from: value.columns, read: ask(value.columns, (record) => readTime(value.read(record))) };
  }
  const { zone, is } = form;
  if (is === 'iso') return { path, zone, numbers: undefined };
  return is === 'any' ? { path, zone, numbers: utc, areDigits: true } : { path, zone, numbers: zone, unit: is };
}

/** As the reader derives it: of an id that is no UUID, what else identifies the event is a part. */
function uuidOf({ event, distinctId, source, nothing }: Rules, uuid: ValueRule, ask: Ask): PlainUuid {
  const own = nothing.size === 0 ? idParts(uuid, ask) : [asked(uuid, ask)];
  const separator: PlainIdPart = { text: partsSeparator };
  const others = [separator, asked(event, ask), separator, asked(distinctId, ask), separator, 'time' as const];
  return { is: 'parts', namespace: namespaceOf('mapping', source), parts: [...own, ...others], mayBeUuid: own.length };
}

function idParts(rule: ValueRule, ask: Ask): readonly PlainIdPart[] {
  const { form } = rule;
  if (form === undefined) return [asked(rule, ask)];
  if ('path' in form) return [{ path: form.path, isNeeded: true }];
  return form.pieces.map((piece) => ('path' in piece ? { path: piece.path, isNeeded: true as const } : piece));
}

function asked({ columns, read }: ValueRule, ask: Ask): PlainIdPart {
  const answer = ask(columns, read);
  return { from: columns, make: (values) => idOf(answer(values)) };
}

function bagSteps(
  { rules }: BagRule,
  words: Rules['nothing'],
  ask: Ask,
  make = propertyOf,
): readonly (PlainMembers | PlainDerived)[] {
  return rules.map(([name, rule]) => {
    const { form, columns } = rule;
    if (form !== undefined && 'path' in form) {
      const nothing = form.path.includes('.') ? [null, ''] : [null, ...words];
      return { members: { [name]: form.path }, nothing };
    }
    return derived(columns, ask(columns, rule.read), (value) => make(name, value));
  });
}

/** What nests may nest too deep, and is judged by others. */
function propertyOf(name: string, value: unknown): Properties | undefined {
  if (typeof value === 'object') return undefined;
  return value === undefined ? {} : { [name]: value };
}

/** Of the event itself: as settleProperties leaves it. */
function ownPropertyOf(name: string, value: unknown): Properties | undefined {
  return propertyOf(name, typeof value === 'string' ? (settledTexts.get(name)?.(value) ?? value) : value);
}

function groupProperty(groups: Properties): Properties | undefined {
  const keys = Object.values(groups);
  if (keys.length === 0) return {};
  // Keys with white space around them are counted.
  return keys.every((key) => typeof key === 'string' && key.trim() === key) ? { $groups: groups } : undefined;
}

function othersOf({ taken, nothing }: Rules): PlainTable['properties'][number] {
  const names = new Map([...taken].map((column) => [column, null] as const));
  return { bag: '', names, nothing: [null, ...nothing], keepsObjects: true };
}

/** Objects have numbers in front. */
function isInOrder({ rules }: BagRule): boolean {
  return rules.every(([name]) => !/^\d/.test(name) && name !== '__proto__');
}

function pathsOf({ event, distinctId, anonymousId, timestamp, uuid, ...rest }: Rules): readonly string[] {
  const bags = [rest.properties, rest.set, rest.setOnce, rest.groups];
  const all = [event, distinctId, anonymousId, timestamp.value, uuid, ...bags, ...rest.skip];
  return all.flatMap((rule) => rule?.columns ?? []);
}

/** `a` and `a.b` of `a.b.c`. */
function objectsOn(path: string): readonly string[] {
  const steps = path.split('.');
  return steps.slice(1).map((_, index) => steps.slice(0, index + 1).join('.'));
}
