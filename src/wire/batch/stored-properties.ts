import { groupEvents } from '../contract/profile-events.ts';

/** Properties that change a person. */
export const profileKeys = ['$set', '$set_once', '$unset'] as const;
export const profileFlag = '$process_person_profile';

const none: readonly string[] = [];

/**
 * Returns the names of properties that are not stored with the event: person properties of an event without a person, and a
 * `$process_person_profile` that is not false.
 */
export function unstoredKeys(event: string, properties: Readonly<Record<string, unknown>>): readonly string[] {
  const flag = Object.hasOwn(properties, profileFlag) ? properties[profileFlag] : undefined;
  if (flag === undefined && !groupEvents.has(event)) return none;
  const removed: readonly string[] = [
    ...(flag === undefined || flag === false ? [] : [profileFlag]),
    ...(flag === false || groupEvents.has(event) ? profileKeys : []),
  ];
  return removed.filter((key) => Object.hasOwn(properties, key));
}

export function withoutKeys<Value>(
  properties: Readonly<Record<string, Value>>,
  keys: readonly string[],
): Record<string, Value> {
  return Object.fromEntries(Object.entries(properties).filter(([key]) => !keys.includes(key)));
}
