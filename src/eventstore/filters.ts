import type { QueryParam } from './eventstore.ts';

export const propertyOperators = ['exact', 'is_not', 'icontains', 'is_set', 'is_not_set'] as const;
export type PropertyOperator = (typeof propertyOperators)[number];

export interface PropertyFilter {
  /** A key of the properties, on the top level. */
  readonly key: string;
  readonly operator: PropertyOperator;
  /** Any of these; not used by is_set and is_not_set. Numbers and booleans as their JSON text. */
  readonly values: readonly string[];
}

export interface EventFilter {
  readonly event?: string | undefined;
  readonly distinctId?: string | undefined;
  /** µs since the epoch, inclusive. */
  readonly after?: bigint | undefined;
  /** µs since the epoch, exclusive. */
  readonly before?: bigint | undefined;
  readonly historical?: boolean | undefined;
  readonly properties?: readonly PropertyFilter[] | undefined;
}

/** Conditions to be joined with AND, and the parameters that they name. */
export interface Conditions {
  readonly sql: readonly string[];
  readonly params: Readonly<Record<string, QueryParam>>;
}

/** Times are bounds of their own, so that a reader can narrow them; see timeConditions. */
export function filterConditions(projectId: number, filter: EventFilter): Conditions {
  const sql = ['project_id = {project:Int32}'];
  const params: Record<string, QueryParam> = { project: projectId };
  if (filter.event !== undefined) {
    sql.push('event = {event:String}');
    params['event'] = filter.event;
  }
  if (filter.distinctId !== undefined) {
    // The hash is in the sorting key, the text is not.
    sql.push('cityHash64(distinct_id) = cityHash64({distinct_id:String})', 'distinct_id = {distinct_id:String}');
    params['distinct_id'] = filter.distinctId;
  }
  if (filter.historical !== undefined) {
    sql.push('historical_migration = {historical:Bool}');
    params['historical'] = filter.historical;
  }
  (filter.properties ?? []).forEach((property, i) => {
    sql.push(propertyCondition(property.operator, `{key_${i}:String}`, `{values_${i}:Array(String)}`));
    params[`key_${i}`] = property.key;
    if (property.operator !== 'is_set' && property.operator !== 'is_not_set') params[`values_${i}`] = property.values;
  });
  return { sql, params };
}

/** From `after` (inclusive) to `before` (exclusive), µs; an open end where one is missing. */
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

function propertyCondition(operator: PropertyOperator, key: string, values: string): string {
  const isString = `JSONType(properties, ${key}) = 'String'`;
  const text = `if(${isString}, JSONExtractString(properties, ${key}), JSONExtractRaw(properties, ${key}))`;
  const present = `JSONHas(properties, ${key})`;
  switch (operator) {
    case 'exact':
      return `(${present} AND has(${values}, ${text}))`;
    case 'is_not':
      return `NOT (${present} AND has(${values}, ${text}))`;
    case 'icontains':
      return `(${present} AND arrayExists(part -> positionCaseInsensitiveUTF8(${text}, part) > 0, ${values}))`;
    case 'is_set':
      return present;
    case 'is_not_set':
      return `NOT ${present}`;
  }
}
