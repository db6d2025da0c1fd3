import { isObject } from '../../../base/json.ts';
import { FormatOptionsError } from '../format.ts';
import { idOf, type Json } from '../read-values.ts';
import { bagRule, type BagRule } from './bag-rule.ts';
import { timeRule, type TimeRule } from './time-rule.ts';
import { refuse, textOf, valueRule, type ValueRule } from './value-rule.ts';

/** A parsed mapping. */
export interface Rules {
  /** What a record describes: an event that happened, or the state of a person or a group. */
  readonly records: RecordKind;
  /** The list of events in a record, if it contains several; all other rules apply to each of them. */
  readonly each: ValueRule | undefined;
  readonly event: ValueRule;
  readonly distinctId: ValueRule;
  readonly anonymousId: ValueRule | undefined;
  readonly timestamp: TimeRule;
  readonly uuid: ValueRule | undefined;
  readonly source: string;
  readonly properties: BagRule;
  /** Where columns that no rule uses go under their own names; `undefined` drops them. */
  readonly others: Others | undefined;
  readonly set: BagRule;
  readonly setOnce: BagRule;
  readonly groups: BagRule;
  /** Properties of a `$groupidentify`; `undefined` without such a rule. */
  readonly groupSet: BagRule | undefined;
  readonly skip: readonly SkipRule[];
  /** Texts that represent a missing value, such as NULL. */
  readonly nothing: ReadonlySet<string>;
  /** Columns that some rule uses whole. */
  readonly taken: ReadonlySet<string>;
}

interface SkipRule {
  readonly matches: (record: Json) => boolean;
  /** The columns that it reads. */
  readonly columns: readonly string[];
  readonly reason: string;
}

/** The record around the list of `each`, without the list. */
export const parentColumn = 'parent';

const recordKinds = ['events', 'persons', 'groups'] as const;
type RecordKind = (typeof recordKinds)[number];
type Others = 'properties' | '$set' | '$set_once' | '$group_set';

/** Rules of each kind of record. */
const rulesOf: Readonly<
  Record<RecordKind, { readonly required: readonly string[]; readonly optional: readonly string[] }>
> = {
  events: {
    required: ['event', 'distinct_id', 'timestamp'],
    optional: ['anonymous_id', 'properties', '$set', '$set_once', 'groups', '$group_set'],
  },
  persons: { required: ['distinct_id', 'timestamp'], optional: ['anonymous_id', '$set', '$set_once'] },
  groups: { required: ['groups', 'timestamp'], optional: ['$group_set'] },
};
const always = ['records', 'each', 'uuid', 'source', 'others', 'skip', 'nothing'] as const;

/** Parses the mapping from JSON. Throws FormatOptionsError, which names the invalid rule. */
export function parseRules(text: string): Rules {
  const mapping = parsed(text);
  const records = kindOf(mapping['records']);
  assertKnown(mapping, records);
  const { source = '' } = mapping;
  if (typeof source !== 'string') refuse('source', 'a name', source);
  const groups = bagRule(mapping['groups'], 'groups');
  const rules = {
    records,
    each: optionalRule(mapping['each'], 'each'),
    event: eventRule(mapping, records),
    distinctId: records === 'groups' ? groupId(groups) : valueRule(mapping['distinct_id'], 'distinct_id'),
    anonymousId: optionalRule(mapping['anonymous_id'], 'anonymous_id'),
    timestamp: timeRule(mapping['timestamp'], 'timestamp'),
    uuid: optionalRule(mapping['uuid'], 'uuid'),
    source,
    properties: bagRule(mapping['properties'], 'properties'),
    others: othersOf(mapping, records),
    set: bagRule(mapping['$set'], '$set'),
    setOnce: bagRule(mapping['$set_once'], '$set_once'),
    groups,
    groupSet:
      records === 'groups' || mapping['$group_set'] !== undefined
        ? bagRule(mapping['$group_set'], '$group_set')
        : undefined,
    skip: skipRules(mapping['skip']),
    nothing: wordsOf(mapping['nothing']),
  };
  return { ...rules, taken: new Set([...columnsOf(rules), ...(rules.each === undefined ? [] : [parentColumn])]) };
}

function kindOf(records: unknown): RecordKind {
  if (records === undefined) return 'events';
  return recordKinds.find((kind) => kind === records) ?? refuse('records', recordKinds.join(', '), records);
}

function assertKnown(mapping: Json, records: RecordKind): void {
  const { required, optional } = rulesOf[records];
  const known: readonly string[] = [...required, ...optional, ...always];
  const unknown = Object.keys(mapping).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    refuse(
      unknown.slice(0, 60),
      `only ${known.join(', ')}${records === 'events' ? '' : ` in a mapping of ${records}`}`,
      unknown,
    );
  }
  for (const key of required) if (mapping[key] === undefined) refuse(key, neededRule(key, records), undefined);
}

function neededRule(key: string, records: RecordKind): string {
  if (key !== 'timestamp' || records === 'events') return 'a rule';
  return 'the column with the time at which the values were valid, or the same time for all records, such as {"constant": "2026-11-28"}';
}

function eventRule(mapping: Json, records: RecordKind): ValueRule {
  if (records === 'events') return valueRule(mapping['event'], 'event');
  return valueRule({ constant: records === 'persons' ? '$set' : '$groupidentify' }, 'event');
}

/** Returns the id that the client libraries give to a group's own events: `$company_42`. */
function groupId(groups: BagRule): ValueRule {
  const [first, ...more] = groups.rules;
  if (first === undefined || more.length > 0) {
    refuse(
      'groups',
      'one type of group, such as {"company": "id"}',
      groups.rules.map(([type]) => type),
    );
  }
  const [type, { read, columns }] = first;
  return {
    columns,
    read: (record) => {
      const key = idOf(read(record));
      return key === undefined ? undefined : `$${type}_${key}`;
    },
  };
}

/** The rule that receives other columns, unless it names its own. */
const restOf = { events: 'properties', persons: '$set', groups: '$group_set' } as const;

function othersOf(mapping: Json, records: RecordKind): Others | undefined {
  const rest = restOf[records];
  const { others = mapping[rest] === undefined } = mapping;
  if (records === 'persons' && others === '$set_once') return others;
  if (typeof others !== 'boolean') {
    refuse('others', `true or false${records === 'persons' ? ', or "$set_once"' : ''}`, others);
  }
  return others ? rest : undefined;
}

function parsed(text: string): Json {
  if (text.trim() === '') {
    throw new FormatOptionsError('mapping: expected the rules as JSON, with event, distinct_id and timestamp');
  }
  try {
    const mapping: unknown = JSON.parse(text);
    if (isObject(mapping)) return mapping;
  } catch (cause) {
    throw new FormatOptionsError(`mapping: expected JSON; ${(cause as Error).message}`, { cause });
  }
  throw new FormatOptionsError('mapping: expected a JSON object with event, distinct_id and timestamp');
}

function optionalRule(rule: unknown, at: string): ValueRule | undefined {
  return rule === undefined ? undefined : valueRule(rule, at);
}

function columnsOf(
  rules: Omit<Rules, 'taken' | 'skip' | 'source' | 'others' | 'nothing' | 'each' | 'records'>,
): readonly string[] {
  const { event, distinctId, anonymousId, timestamp, uuid, properties, set, setOnce, groups, groupSet } = rules;
  const all = [event, distinctId, anonymousId, timestamp.value, uuid, properties, set, setOnce, groups, groupSet];
  return all.flatMap((rule) => rule?.columns ?? []);
}

function wordsOf(list: unknown): ReadonlySet<string> {
  if (list === undefined) return new Set();
  const words: readonly unknown[] = Array.isArray(list) ? list : refuse('nothing', 'a list of texts', list);
  return new Set(words.map((word) => (typeof word === 'string' ? word : refuse('nothing', 'only texts', word))));
}

/** Parses `[{"if": rule, "is": value or list of values, "reason": text}]`; without `is`, any value matches. */
function skipRules(list: unknown): readonly SkipRule[] {
  if (list === undefined) return [];
  if (!Array.isArray(list)) refuse('skip', 'a list of {"if": …, "is": …, "reason": …}', list);
  return (list as readonly unknown[]).map((each, index) => {
    const at = `skip[${index}]`;
    if (!isObject(each)) refuse(at, 'an object with "if"', each);
    const unknown = Object.keys(each).find((key) => !['if', 'is', 'reason'].includes(key));
    if (unknown !== undefined) refuse(at, 'only if, is, reason', unknown);
    const { is, reason = `${at} of the mapping` } = each;
    if (typeof reason !== 'string') refuse(`${at}.reason`, 'a text', reason);
    const { read, columns } = valueRule(each['if'], `${at}.if`);
    const values = is === undefined ? undefined : new Set((Array.isArray(is) ? is : [is]).map(textOf));
    const matches = (record: Json): boolean => {
      const value = read(record);
      return value !== undefined && (values === undefined || values.has(textOf(value)));
    };
    return { matches, columns, reason };
  });
}
