import { isObject } from '../../../base/json.ts';
import type { EventWriter } from '../event-writer.ts';
import { valueOfPair } from '../value-of-pair.ts';
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

function putParameter(target: Properties, parameter: unknown, put: EventWriter['put']): void {
  if (!isObject(parameter) || typeof parameter['key'] !== 'string') return;
  const value = valueOfPair(parameter['value']);
  if (isSet(value)) put(target, parameter['key'], value);
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
