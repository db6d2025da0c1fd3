import { isObject } from '../../../base/json.ts';
import { FormatOptionsError } from '../format.ts';
import { type Json } from '../read-values.ts';
import { bagRule, type BagRule } from './bag-rule.ts';
import { timeRule, type TimeRule } from './time-rule.ts';
import { refuse, textOf, valueRule, type ValueRule } from './value-rule.ts';

/** A parsed mapping. */
export interface Rules {
  /** The list of events in a record, if it contains several; all other rules apply to each of them. */
  readonly each: ValueRule | undefined;
  readonly event: ValueRule;
  readonly distinctId: ValueRule;
  readonly anonymousId: ValueRule | undefined;
  readonly timestamp: TimeRule;
  readonly uuid: ValueRule | undefined;
  readonly source: string;
  readonly properties: BagRule;
  /** Whether columns that no rule uses become properties under their own names. */
  readonly others: boolean;
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

const required = ['event', 'distinct_id', 'timestamp'] as const;
const optional = [
  'each',
  'anonymous_id',
  'uuid',
  'source',
  'properties',
  'others',
  '$set',
  '$set_once',
  'groups',
  '$group_set',
  'skip',
  'nothing',
] as const;

/** Parses the mapping from JSON. Throws FormatOptionsError, which names the invalid rule. */
export function parseRules(text: string): Rules {
  const mapping = parsed(text);
  const known: readonly string[] = [...required, ...optional];
  const unknown = Object.keys(mapping).find((key) => !known.includes(key));
  if (unknown !== undefined) refuse(unknown.slice(0, 60), `only ${known.join(', ')}`, unknown);
  for (const key of required) if (mapping[key] === undefined) refuse(key, 'a rule', undefined);
  const { source = '', others = mapping['properties'] === undefined } = mapping;
  if (typeof source !== 'string') refuse('source', 'a name', source);
  if (typeof others !== 'boolean') refuse('others', 'true or false', others);
  const rules = {
    each: optionalRule(mapping['each'], 'each'),
    event: valueRule(mapping['event'], 'event'),
    distinctId: valueRule(mapping['distinct_id'], 'distinct_id'),
    anonymousId: optionalRule(mapping['anonymous_id'], 'anonymous_id'),
    timestamp: timeRule(mapping['timestamp'], 'timestamp'),
    uuid: optionalRule(mapping['uuid'], 'uuid'),
    source,
    properties: bagRule(mapping['properties'], 'properties'),
    others,
    set: bagRule(mapping['$set'], '$set'),
    setOnce: bagRule(mapping['$set_once'], '$set_once'),
    groups: bagRule(mapping['groups'], 'groups'),
    groupSet: mapping['$group_set'] === undefined ? undefined : bagRule(mapping['$group_set'], '$group_set'),
    skip: skipRules(mapping['skip']),
    nothing: wordsOf(mapping['nothing']),
  };
  return { ...rules, taken: new Set([...columnsOf(rules), ...(rules.each === undefined ? [] : [parentColumn])]) };
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

function columnsOf(rules: Omit<Rules, 'taken' | 'skip' | 'source' | 'others' | 'nothing' | 'each'>): readonly string[] {
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
