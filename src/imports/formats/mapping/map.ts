import { isPlaceholderId } from '../../../base/placeholder-ids.ts';
import { namespaceOf, partsSeparator } from '../derived-uuids.ts';
import { skipped, unreadable, type EventWriter, type NoEvents } from '../event-writer.ts';
import type { NameTable } from '../format.ts';
import { namesOf } from '../names.ts';
import { idOf, kindOf, setMember, type Json, type Properties } from '../read-values.ts';
import type {
  Bag,
  Derived,
  Draft,
  Hook,
  IdPart,
  IdRule,
  Members,
  RecordMap,
  TimeForm,
  Usual,
  UuidRule,
} from '../record-map.ts';
import { kindOfTime, utc } from '../times.ts';
import { emptyText, type BagRule } from './bag-rule.ts';
import type { Rules } from './rules.ts';
import { isExcelDate, type TimeRule } from './time-rule.ts';
import type { ValueRule } from './value-rule.ts';

/** Converts a user's rules to a map. Paths are resolved directly; anything beyond a path calls the rule. */
export function mappingMap(rules: Rules, writer: EventWriter, names: NameTable): RecordMap {
  const { uuid, set, setOnce, skip, groups, groupSet } = rules;
  const person = namesOf(names.person_properties);
  return {
    source: 'mapping',
    ...(rules.nothing.size > 0 && { reshape: (record) => without(rules.nothing, record) }),
    event: {
      from: rules.event.columns,
      read: (record) => {
        const found = rules.event.read(record);
        return idOf(found) ?? unreadable(`event: expected a name, got ${kindOf(found)}`);
      },
      named: writer.eventName,
    },
    time: timeOf(rules.timestamp),
    ids: idsOf(rules),
    uuid: uuid === undefined ? writer.contentUuid : uuidOf(rules, uuid),
    order: [
      ...skip.map(({ matches, columns, reason }) => ({
        from: columns,
        read: (record: Json) => (matches(record) ? skipped(reason) : undefined),
      })),
      'event',
      'ids',
      'time',
      'names',
      ...(groupSet === undefined ? [] : [(draft: Draft) => groupFault(draft, rules)]),
      ...(uuid === undefined ? [] : ['uuid' as const]),
    ],
    properties: [
      ...bagSteps(rules.properties, rules.nothing),
      ...(rules.others === 'properties' ? [othersOf(rules)] : []),
      { renames: namesOf(names.properties) },
      '$set',
      {
        of: 'members',
        from: groups.columns,
        add: (record, properties) => {
          const found = groupsOf(groups, record);
          if (Object.keys(found).length > 0) properties['$groups'] = found;
        },
      },
      ...(groupSet === undefined ? [] : [groupProfile(rules, groupSet)]),
    ],
    person: [
      ...bagSteps(set, rules.nothing).map((step) => Object.assign({ into: '$set' as const }, step)),
      ...(rules.others === '$set' ? [{ into: rules.others, ...othersOf(rules) }] : []),
      { into: '$set', renames: person },
      ...bagSteps(setOnce, rules.nothing).map((step) => Object.assign({ into: '$set_once' as const }, step)),
      ...(rules.others === '$set_once' ? [{ into: rules.others, ...othersOf(rules) }] : []),
      { into: '$set_once', renames: person },
    ],
    ...(rules.anonymousId && { links: writer.identify }),
    ...usualOf(rules),
  };
}

/** Returns the columns with a value. */
export function without(nothing: ReadonlySet<string>, record: Json): Json {
  const kept: Properties = {};
  for (const column of Object.keys(record)) {
    const value = record[column];
    if (typeof value !== 'string' || !nothing.has(value)) setMember(kept, column, value);
  }
  return kept;
}

function timeOf({ value, readTime, form }: TimeRule): RecordMap['time'] {
  const path = value.form !== undefined && 'path' in value.form ? value.form.path : undefined;
  return {
    from: value.columns,
    read: (record) => readTime(value.read(record)),
    ...(path !== undefined && form !== undefined && formOf(path, form)),
    otherwise: ({ record }) => {
      const found = value.read(record);
      const isDate = form?.is === 'any' && isExcelDate(found);
      return unreadable(
        isDate
          ? 'timestamp: expected a time, got what looks like the serial date of a spreadsheet; give "format": "excel" or "s"'
          : `timestamp: expected a time in the format given, got ${kindOfTime(found)}`,
      );
    },
  };
}

function formOf(path: string, { zone, is }: NonNullable<TimeRule['form']>): { readonly form?: TimeForm } {
  if (is === 'ns') return {};
  if (is === 'iso') return { form: { path, zone } };
  if (is === 'any') return { form: { path, zone, numbers: utc, areDigits: true } };
  return { form: { path, zone, numbers: zone, unit: is } };
}

function idsOf({ records, distinctId, anonymousId }: Rules): IdRule {
  return {
    from: [...distinctId.columns, ...(anonymousId?.columns ?? [])],
    read: (record) => {
      const found = distinctId.read(record);
      const id = idOf(found);
      if (id === undefined) {
        return records === 'groups'
          ? unreadable('groups: expected the key of a group, got nothing')
          : unreadable(`distinct_id: expected an id, got ${kindOf(found)}`);
      }
      if (isPlaceholderId(id)) {
        return records === 'persons'
          ? skipped('a person with a placeholder id')
          : { distinctId: id, isPlaceholderId: true };
      }
      const device = idOf(anonymousId?.read(record));
      return device === undefined || isPlaceholderId(device)
        ? { distinctId: id }
        : { distinctId: id, user: id, device };
    },
  };
}

/** If the id is not a UUID, the event's other identifying values become part of it: two files may both count from 1. */
function uuidOf({ source, nothing }: Rules, { columns, read, form }: ValueRule): UuidRule {
  const pieces = form === undefined || nothing.size > 0 ? undefined : 'path' in form ? [form] : form.pieces;
  const id: IdPart = { from: columns, read: (record) => idOf(read(record)), ...(pieces && { pieces }) };
  const separator = { text: partsSeparator };
  return {
    is: 'parts',
    namespace: namespaceOf('mapping', source),
    parts: [id, separator, 'name', separator, 'distinct_id', separator, 'time'],
    mayBeUuid: true,
    otherwise: () => unreadable('uuid: expected an id, got nothing'),
  };
}

/** Returns why group properties cannot be assigned. */
function groupFault({ record, event }: Draft, { groups }: Rules): NoEvents | undefined {
  if (event !== '$groupidentify') {
    return unreadable('$group_set: expected events called $groupidentify, got another one');
  }
  const found = Object.keys(groupsOf(groups, record)).length;
  return found === 1 ? undefined : unreadable(`$group_set: expected one group in groups, got ${found}`);
}

function groupProfile({ groups, others, taken, nothing }: Rules, groupSet: BagRule): Hook {
  return {
    from: [],
    isIdle: () => false,
    run: ({ record, properties }) => {
      const [[type, key] = []] = Object.entries(groupsOf(groups, record));
      const set: Properties = {};
      groupSet.addTo(record, set);
      for (const [column, value] of others === '$group_set' ? Object.entries(record) : []) {
        const isNothing = value === null || (typeof value === 'string' && nothing.has(value));
        if (!isNothing && !taken.has(column) && !Object.hasOwn(set, column)) setMember(set, column, value);
      }
      Object.assign(properties, { $group_type: type, $group_key: key, $group_set: set });
    },
  };
}

function bagSteps({ rules }: BagRule, words: Rules['nothing']): readonly (Members | Derived)[] {
  return rules.map(([name, rule]) => {
    const { form, columns, read } = rule;
    if (form !== undefined && 'path' in form) {
      const nothing = form.path.includes('.') ? [null, ''] : [null, ...words];
      return {
        members: { [name]: form.path },
        nothing,
        read: (record: Json) => read(record) ?? emptyText(rule, record),
      };
    }
    return {
      of: 'members',
      from: columns,
      add: (record, properties) => {
        const value = read(record);
        if (value !== undefined && value !== null) setMember(properties, name, value);
      },
      // Nested values may exceed the depth limit, which other code checks.
      isUsual: (added) => Object.values(added).every((value) => typeof value !== 'object'),
    };
  });
}

function othersOf({ taken, nothing }: Rules): Bag {
  const names = new Map([...taken].map((column) => [column, null] as const));
  return { bag: '', names, nothing: [null, ...nothing], taken: 'is-skipped', keepsObjects: true };
}

/** Omitted for rules that the converter cannot follow. */
function usualOf(rules: Rules): { readonly usual?: Usual } {
  const { uuid, nothing, properties, set, setOnce } = rules;
  if (![properties, set, setOnce].every(isInOrder)) return {};
  // Missing values are not part of the content.
  if (uuid === undefined && nothing.size > 0) return {};
  const dotted = pathsOf(rules).filter((path) => path.includes('.'));
  return {
    usual: {
      ignores: 'all',
      // A column named like the whole path takes precedence over the nested value.
      lacks: new Set(dotted),
      texts: dotted.flatMap(objectsOn),
      nothing,
    },
  };
}

/** Objects sort integer keys first. */
function isInOrder({ rules }: BagRule): boolean {
  return rules.every(([name]) => !/^\d/.test(name) && name !== '__proto__');
}

function pathsOf({ event, distinctId, anonymousId, timestamp, uuid, ...rest }: Rules): readonly string[] {
  const bags = [rest.properties, rest.set, rest.setOnce, rest.groups];
  const all = [event, distinctId, anonymousId, timestamp.value, uuid, ...bags, ...rest.skip];
  return all.flatMap((rule) => rule?.columns ?? []);
}

/** Returns `a` and `a.b` for `a.b.c`. */
function objectsOn(path: string): readonly string[] {
  const steps = path.split('.');
  return steps.slice(1).map((_, index) => steps.slice(0, index + 1).join('.'));
}

/** Returns the keys of a record's groups by type. */
function groupsOf(bag: BagRule, record: Json): Properties {
  const found: Properties = {};
  bag.addTo(record, found);
  const groups: Properties = {};
  for (const [type, value] of Object.entries(found)) {
    const key = idOf(value);
    if (key !== undefined) setMember(groups, type, key);
  }
  return groups;
}
