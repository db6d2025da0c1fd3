import type { QueryParam } from './eventstore.ts';

/** The values that an operator takes: alternative strings, one number, or none. */
export const operatorValues = {
  exact: 'texts',
  is_not: 'texts',
  icontains: 'texts',
  not_icontains: 'texts',
  starts_with: 'texts',
  gt: 'number',
  gte: 'number',
  lt: 'number',
  lte: 'number',
  is_set: 'none',
  is_not_set: 'none',
} as const;
export const propertyOperators = Object.keys(operatorValues) as readonly PropertyOperator[];
export type PropertyOperator = keyof typeof operatorValues;

export interface PropertyFilter {
  /** A key of the properties, on the top level. */
  readonly key: string;
  readonly operator: PropertyOperator;
  /** Alternatives; one for a comparison of numbers, none for is_set and is_not_set. Numbers and booleans as JSON text. */
  readonly values: readonly string[];
}

export interface EventFilter {
  readonly event?: string | undefined;
  /** Alternatives, in which `*` matches any characters; at most 100. */
  readonly events?: readonly string[] | undefined;
  readonly distinctId?: string | undefined;
  /** Alternatives. An empty list matches no event. */
  readonly distinctIds?: readonly string[] | undefined;
  /** µs since the epoch, inclusive. */
  readonly after?: bigint | undefined;
  /** µs since the epoch, exclusive. */
  readonly before?: bigint | undefined;
  /** Only rows that were received before, µs since the epoch, exclusive. */
  readonly receivedBefore?: bigint | undefined;
  readonly historical?: boolean | undefined;
  /** Id of the import run that stored it. */
  readonly run?: string | undefined;
  readonly properties?: readonly PropertyFilter[] | undefined;
}

/** Conditions to join with AND, and their parameters. */
export interface Conditions {
  readonly sql: readonly string[];
  readonly params: Readonly<Record<string, QueryParam>>;
  /** The selective condition of `sql`: its column is read first, where duplicates need not be merged before. */
  readonly narrow?: string | undefined;
}

/** Escapes what LIKE would interpret, and translates `*`. */
function likePattern(name: string): string {
  return name.replace(/[\\%_]/g, '\\$&').replaceAll('*', '%');
}

/** Excludes time bounds, which readers narrow separately; see timeConditions. */
export function filterConditions(projectId: number, filter: EventFilter): Conditions {
  const sql = ['project_id = {project:Int32}'];
  const params: Record<string, QueryParam> = { project: projectId };
  let narrow: string | undefined;
  if (filter.event !== undefined) {
    sql.push('event = {event:String}');
    params['event'] = filter.event;
  }
  if (filter.events !== undefined) {
    const names = filter.events.map((_, i) => `event LIKE {event_${i}:String}`);
    sql.push(`(${names.join(' OR ') || 'false'})`);
    filter.events.forEach((name, i) => (params[`event_${i}`] = likePattern(name)));
  }
  if (filter.distinctId !== undefined) {
    narrow = 'distinct_id = {distinct_id:String}';
    // The hash is in the sorting key, the text is not.
    sql.push('indexHint(cityHash64(distinct_id) = cityHash64({distinct_id:String}))', narrow);
    params['distinct_id'] = filter.distinctId;
  }
  if (filter.distinctIds !== undefined) {
    // Subqueries: the engine computes a set once, and an array function for every row.
    narrow = 'distinct_id IN (SELECT arrayJoin({distinct_ids:Array(String)}))';
    sql.push(
      'indexHint(cityHash64(distinct_id) IN (SELECT cityHash64(arrayJoin({distinct_ids:Array(String)}))))',
      narrow,
    );
    params['distinct_ids'] = filter.distinctIds;
  }
  if (filter.receivedBefore !== undefined) {
    sql.push("received_at < fromUnixTimestamp64Micro({received_before:Int64}, 'UTC')");
    params['received_before'] = filter.receivedBefore;
  }
  if (filter.historical !== undefined) {
    sql.push('historical_migration = {historical:Bool}');
    params['historical'] = filter.historical;
  }
  if (filter.run !== undefined) {
    sql.push('import_run = {run:String}');
    params['run'] = filter.run;
  }
  (filter.properties ?? []).forEach((property, i) => {
    sql.push(propertyCondition(property, `{key_${i}:String}`, `{values_${i}:Array(String)}`));
    params[`key_${i}`] = property.key;
    if (operatorValues[property.operator] !== 'none') params[`values_${i}`] = property.values;
  });
  return { sql, params, narrow };
}

/** Returns conditions for times from `after` (inclusive) to `before` (exclusive), in µs. Either may be omitted. */
export function timeConditions(column: 'timestamp' | 'received_at', after?: bigint, before?: bigint): Conditions {
  const sql: string[] = [];
  const params: Record<string, QueryParam> = {};
  if (after !== undefined) {
    sql.push(`${column} >= fromUnixTimestamp64Micro({after:Int64}, 'UTC')`);
    params['after'] = after;
  }
  if (before !== undefined) {
    sql.push(`${column} < fromUnixTimestamp64Micro({before:Int64}, 'UTC')`);
    params['before'] = before;
  }
  return { sql, params };
}

/** Numbers with so many digits or such a large exponent that the engine's JSON functions round them or fail on the whole object. */
const longNumber = String.raw`'([:,\\[]\\s*)(-?[\\d.]+(?:[\\d.]{17}|[eE][+]?\\d{3})[\\d.eE+]*)'`;
const withTexts = String.raw`replaceRegexpAll(properties, ${longNumber}, '\\1"\\2"')`;
/**
 * The properties with such numbers as strings, so that their digits can be compared. If a string contains something that looks like
 * one, the result would not be JSON, and the properties stay unchanged.
 */
export const readableProperties = `if(match(properties, ${longNumber}) AND isValidJSON(${withTexts}), ${withTexts}, properties)`;

function propertyCondition({ operator }: PropertyFilter, key: string, values: string): string {
  const isString = `JSONType(${readableProperties}, ${key}) = 'String'`;
  const text = `if(${isString}, JSONExtractString(${readableProperties}, ${key}), JSONExtractRaw(${readableProperties}, ${key}))`;
  const present = `JSONHas(${readableProperties}, ${key})`;
  const contains = `(${present} AND arrayExists(part -> positionCaseInsensitiveUTF8(${text}, part) > 0, ${values}))`;
  switch (operator) {
    case 'exact':
      return `(${present} AND has(${values}, ${text}))`;
    case 'is_not':
      return `NOT (${present} AND has(${values}, ${text}))`;
    case 'icontains':
      return contains;
    case 'not_icontains':
      return `NOT ${contains}`;
    case 'starts_with':
      return `(${present} AND arrayExists(part -> startsWith(${text}, part), ${values}))`;
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return `(JSONType(properties, ${key}) != 'String'
  AND ifNull(${decimal(text)} ${comparisons[operator]} ${decimal(`${values}[1]`)}, false))`;
    case 'is_set':
      return present;
    case 'is_not_set':
      return `NOT ${present}`;
  }
}

const comparisons = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

/** Converts to 58 digits before the point and 18 after it; null for anything that is not a number or does not fit. */
function decimal(text: string): string {
  return `toDecimal256OrNull(${text}, 18)`;
}
