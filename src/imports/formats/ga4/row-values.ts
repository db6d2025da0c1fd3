import { isObject } from '../../../base/json.ts';
import type { EventWriter } from '../event-writer.ts';
import { timeOfEpoch } from '../read-times.ts';
import { asNumber, listOf, objectOf, setMember, type Json, type Properties } from '../read-values.ts';

/** Members of a row that are no properties as they stand. */
export const readApart: ReadonlySet<string> = new Set(
  [
    'event_name',
    'event_params',
    'event_timestamp',
    'items',
    'user_first_touch_timestamp',
    'user_id',
    'user_ltv',
  ].concat(['user_properties', 'user_pseudo_id']),
);

/** Values that say nothing. */
export const unset: readonly unknown[] = [null, '', '(not set)', '(not provided)'];

/** `geo: {country}` as `geo_country`. Lists, and what lies deeper than four levels, stay as they are. */
export function putFlattened(
  writer: EventWriter,
  target: Properties,
  name: string,
  value: unknown,
  levels: number,
): void {
  if (isObject(value) && levels > 0) {
    for (const key of Object.keys(value)) putFlattened(writer, target, `${name}_${key}`, value[key], levels - 1);
  } else if (isSet(value) && !(Array.isArray(value) && value.length === 0)) writer.put(target, name, value);
}

export function putParameter(target: Properties, parameter: unknown, put: EventWriter['put']): void {
  if (!isObject(parameter) || typeof parameter['key'] !== 'string') return;
  const value = valueOf(parameter['value']);
  if (isSet(value)) put(target, parameter['key'], value);
}

/** The one of `string_value`, `int_value`, `float_value` and `double_value` that is there; JSON exports write integers as text. */
function valueOf(value: unknown): unknown {
  if (!isObject(value)) return value;
  const text = value['string_value'];
  if (text !== undefined && text !== null) return text;
  for (const type of ['int_value', 'double_value', 'float_value']) {
    const number = value[type];
    if (number !== undefined && number !== null) return asNumber(number);
  }
  return undefined;
}

/** What was bought, seen, put into the cart. */
export function addItems(writer: EventWriter, properties: Properties, given: unknown): void {
  const items = listOf(given).filter(isObject).map(itemOf);
  if (items.length > 0) writer.put(properties, 'items', items);
}

function itemOf(item: Json): Properties {
  const read: Properties = {};
  for (const key of Object.keys(item)) {
    if (key !== 'item_params' && isSet(item[key])) setMember(read, key, item[key]);
  }
  for (const each of listOf(item['item_params'])) putParameter(read, each, setMember);
  return read;
}

/** When the person first came, in µs since 1970, and what they have spent since. */
export function addLifetime(writer: EventWriter, person: Properties, firstTouch: unknown, lifetime: unknown): void {
  writer.putPerson(person, 'user_first_touch_timestamp', timeOfEpoch(firstTouch, 'us'));
  for (const [key, value] of Object.entries(objectOf(lifetime))) {
    if (isSet(value)) writer.putPerson(person, `user_ltv_${key}`, asNumber(value));
  }
}

function isSet(value: unknown): boolean {
  return value !== undefined && !unset.includes(value);
}
