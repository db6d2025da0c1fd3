import { isObject } from '../../../base/json.ts';
import { FormatOptionsError } from '../format.ts';
import { type Json } from '../read-values.ts';
import { bagRule, type BagRule } from './bag-rule.ts';
import { timeRule, type TimeRule } from './time-rule.ts';
import { refuse, textOf, valueRule, type ValueRule } from './value-rule.ts';

/** A mapping, ready to read records. */
export interface Rules {
  /** Where a record holds several events, their list: all other rules read one of them after the other. */
  readonly each: ValueRule | undefined;
  readonly event: ValueRule;
  readonly distinctId: ValueRule;
  readonly anonymousId: ValueRule | undefined;
  readonly timestamp: TimeRule;
  readonly uuid: ValueRule | undefined;
  readonly source: string;
  readonly properties: BagRule;
  /** Whether columns that no rule takes become properties under their own names. */
  readonly others: boolean;
  readonly set: BagRule;
  readonly setOnce: BagRule;
  readonly groups: BagRule;
  /** Of a `$groupidentify`; undefined: no rule for it. */
  readonly groupSet: BagRule | undefined;
  readonly skip: readonly SkipRule[];
  /** Texts that stand for no value, such as NULL. */
  readonly nothing: ReadonlySet<string>;
  /** Columns that some rule takes whole. */
  readonly taken: ReadonlySet<string>;
}

interface SkipRule {
  readonly matches: (record: Json) => boolean;
  /** All that it reads. */
  readonly columns: readonly string[];
  readonly reason: string;
}

/** What stands around the list of `each`: the record without it. */
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

/** `text`: the mapping as JSON. Throws FormatOptionsError, which names the rule that is wrong. */
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

/** `[{"if": rule, "is": value or list of values, "reason": text}]`; without `is`: when there is any value. */
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
