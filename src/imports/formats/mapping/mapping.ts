import type { ReaderMemory } from '../reader-memory.ts';
import { isObject } from '../../../base/json.ts';
import type { WireEvent } from '../../../contract/wire-event.ts';
import { canonicalUuid } from '../../../base/uuids.ts';
import {
  createEventWriter,
  imported,
  leftOut,
  skipped,
  unreadable,
  type EventWriter,
  type NoEvents,
} from '../event-writer.ts';
import type { Format, FormatOptions, NameTable, RecordReader, RecordResult } from '../format.ts';
import { namesOf, rename, type Names } from '../names.ts';
import { withPlain } from '../plain-table.ts';
import { readExample } from '../read-example.ts';
import { readable, readList } from '../read-list.ts';
import { readOptions } from '../read-options.ts';
import { idOf, kindOf, setMember, valueOfJson, type Json, type Properties } from '../read-values.ts';
import { kindOfTime } from '../times.ts';
import { readObjects } from '../read-objects.ts';
import { isNobody } from '../../../base/nobody-ids.ts';
import { groupsOf } from './groups.ts';
import { evidence } from './evidence.ts';
import example from './example.json' with { type: 'json' };
import type { BagRule } from './bag-rule.ts';
import { mappingPlain, type Context } from './plain.ts';
import { rulesSchema } from './rules-schema.ts';
import { parentColumn, parseRules, type Rules } from './rules.ts';
import { isExcelDate } from './time-rule.ts';
import type { ValueRule } from './value-rule.ts';

/** Records of any shape, by rules that a user writes. */
export const mapping: Format = {
  slug: 'mapping',
  name: 'Mapping',
  description:
    'Records of any shape, by rules. `event`, `distinct_id` and `timestamp` are required; `uuid`, `anonymous_id`, `properties`, ' +
    '`others`, `$set`, `$set_once`, `groups`, `$group_set`, `skip`, `nothing`, `each` and `source` may be there. A rule is a column or path ' +
    '(`"user.id"`, which also leads into JSON text), a template (`"{a}-{b}"`), or an object with one of `path`, `constant`, `template`, `first` (a list of rules) and any of ' +
    '`default`, `table` (value → value), `else`, `type` (text, number, boolean, json). `timestamp` may have `format` (iso, s, ' +
    'ms, us, ns, excel or a pattern such as `dd.MM.yyyy HH:mm:ss`) and `zone`. `properties`, `$set`, `$set_once`, `groups` and `$group_set` are lists ' +
    'of columns or objects of name → rule. `$group_set` tells of the one group in `groups`, for the event `$groupidentify`. Columns that no rule takes become properties if `others` is true, which it is ' +
    'unless `properties` is given. `skip` is a list of `{"if": rule, "is": values, "reason": text}`. `nothing` lists texts ' +
    'that stand for no value (`["NULL", "\\\\N", ""]`); an empty text is a property otherwise, null is none. `each` is ' +
    'the list of events in a record (`"data"`): the rules are those of one of them, and what stands around it is `parent` ' +
    '(`"parent.app"`). `source` keeps ids of one source apart from those of another.',
  source: 'Rows and objects of any tool: a CSV with a heading, a query of a warehouse, JSON lines.',
  options: [{ key: 'mapping', description: 'The rules, as JSON. Required', schema: rulesSchema }],
  evidence,
  names: { events: {}, properties: {}, person_properties: {} },
  example: readExample(example),
  createReader,
};

function createReader(given: FormatOptions, names: NameTable, memory?: ReaderMemory): RecordReader {
  const options = readOptions('mapping', mapping.options, given);
  const context: Context = {
    rules: parseRules(options['mapping'] ?? ''),
    writer: createEventWriter('mapping', names, memory),
    properties: namesOf(names.properties),
    person: namesOf(names.person_properties),
  };
  const { nothing, each } = context.rules;
  if (each !== undefined) return readObjects((record) => readEach(record, each, context));
  const read = readObjects((record) => readRecord(nothing.size === 0 ? record : without(nothing, record), context));
  const plain = mappingPlain(context);
  return plain === undefined ? read : withPlain(read, plain);
}

/** All events of a record, or none if one cannot be read. */
function readEach(record: Json, { read: listOf, columns }: ValueRule, context: Context): RecordResult {
  const found = valueOfJson(listOf(record));
  const list = isObject(found) ? [found] : found;
  if (!Array.isArray(list)) return unreadable(`each: expected a list of events, got ${kindOf(found)}`);
  const parent: Properties = {};
  for (const column of Object.keys(record)) if (!columns.includes(column)) setMember(parent, column, record[column]);
  const { nothing } = context.rules;
  return readList(list, 'each', 'a record without events', (item) => {
    const event = { ...without(nothing, item), [parentColumn]: without(nothing, parent) };
    const head = headOf(event, context);
    return head.kind === 'head' ? readable(() => eventsOf(event, head, context)) : head;
  });
}

/** The columns that hold a value. */
function without(nothing: ReadonlySet<string>, record: Json): Json {
  const kept: Properties = {};
  for (const column of Object.keys(record)) {
    const value = record[column];
    if (typeof value !== 'string' || !nothing.has(value)) setMember(kept, column, value);
  }
  return kept;
}

/** Who, what and when. */
interface Head {
  readonly kind: 'head';
  readonly event: string;
  readonly distinctId: string;
  readonly timestamp: string;
  /** As the record has it; undefined: no rule for it. */
  readonly id: string | undefined;
  /** As the record calls the event. */
  readonly name: string;
}

function readRecord(record: Json, context: Context): RecordResult {
  const head = headOf(record, context);
  return head.kind === 'head' ? imported(eventsOf(record, head, context)) : head;
}

function headOf(record: Json, { rules, writer }: Context): Head | NoEvents {
  for (const { matches, reason } of rules.skip) if (matches(record)) return skipped(reason);
  const foundName = rules.event.read(record);
  const name = idOf(foundName);
  if (name === undefined) return unreadable(`event: expected a name, got ${kindOf(foundName)}`);
  const foundId = rules.distinctId.read(record);
  const distinctId = idOf(foundId);
  if (distinctId === undefined) return unreadable(`distinct_id: expected an id, got ${kindOf(foundId)}`);
  const foundTime = rules.timestamp.value.read(record);
  const timestamp = rules.timestamp.readTime(foundTime);
  if (timestamp === undefined) {
    if (rules.timestamp.form?.is === 'any' && isExcelDate(foundTime)) {
      return unreadable(
        'timestamp: expected a time, got what looks like the serial date of a spreadsheet; give "format": "excel" or "s"',
      );
    }
    return unreadable(`timestamp: expected a time in the format given, got ${kindOfTime(foundTime)}`);
  }
  const event = writer.eventName(name);
  if (event === null) return leftOut(name);
  const fault = rules.groupSet === undefined ? undefined : groupFault(record, event, rules);
  if (fault !== undefined) return unreadable(fault);
  const id = idOf(rules.uuid?.read(record));
  if (rules.uuid !== undefined && id === undefined) return unreadable('uuid: expected an id, got nothing');
  return { kind: 'head', event, distinctId, timestamp, id, name };
}

/** Why what is told of a group has no place to go. */
function groupFault(record: Json, event: string, { groups }: Rules): string | undefined {
  if (event !== '$groupidentify') return '$group_set: expected events called $groupidentify, got another one';
  const found = Object.keys(groupsOf(groups, record)).length;
  return found === 1 ? undefined : `$group_set: expected one group in groups, got ${found}`;
}

function eventsOf(record: Json, head: Head, { rules, writer, ...names }: Context): readonly WireEvent[] {
  const { event, distinctId, timestamp } = head;
  const properties = propertiesOf(record, rules, names);
  if (isNobody(distinctId)) properties['$process_person_profile'] = false;
  const uuid = uuidOf(record, head, rules, writer);
  return [
    ...links(record, distinctId, timestamp, rules, writer),
    writer.event(uuid, event, distinctId, timestamp, properties),
  ];
}

/** Of an id that is no UUID, what else identifies the event is a part: two files may both count from 1. */
function uuidOf(
  record: Json,
  { id, name, distinctId, timestamp }: Head,
  { source }: Rules,
  writer: EventWriter,
): string {
  if (id === undefined) return writer.contentId(record);
  return canonicalUuid(id) ?? writer.id(source, id, name, distinctId, timestamp);
}

function links(
  record: Json,
  distinctId: string,
  timestamp: string,
  { anonymousId }: Rules,
  writer: EventWriter,
): ReturnType<EventWriter['identify']> {
  const device = idOf(anonymousId?.read(record));
  if (device === undefined || isNobody(device) || isNobody(distinctId)) return [];
  return writer.identify(distinctId, device, timestamp);
}

function propertiesOf(record: Json, rules: Rules, names: Pick<Context, 'properties' | 'person'>): Properties {
  const found: Properties = {};
  rules.properties.addTo(record, found);
  if (rules.others) addOthers(record, rules.taken, found);
  const properties: Properties = names.properties.size === 0 ? found : {};
  if (names.properties.size > 0) rename(found, names.properties, properties);
  addBag(rules.set, '$set', record, properties, names.person);
  addBag(rules.setOnce, '$set_once', record, properties, names.person);
  const groups = groupsOf(rules.groups, record);
  if (Object.keys(groups).length > 0) properties['$groups'] = groups;
  if (rules.groupSet !== undefined) addGroupProfile(rules.groupSet, record, groups, properties);
  return properties;
}

function addGroupProfile(bag: BagRule, record: Json, groups: Properties, properties: Properties): void {
  const [[type, key] = []] = Object.entries(groups);
  const set: Properties = {};
  bag.addTo(record, set);
  Object.assign(properties, { $group_type: type, $group_key: key, $group_set: set });
}

function addOthers(record: Json, taken: ReadonlySet<string>, target: Properties): void {
  for (const column of Object.keys(record)) {
    const value = record[column];
    if (value === null || value === undefined || taken.has(column)) continue;
    if (!Object.hasOwn(target, column)) setMember(target, column, value);
  }
}

function addBag(bag: BagRule, name: string, record: Json, properties: Properties, names: Names): void {
  const found: Properties = {};
  bag.addTo(record, found);
  const target: Properties = {};
  rename(found, names, target);
  if (Object.keys(target).length > 0) properties[name] = target;
}
