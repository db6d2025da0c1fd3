import { isObject } from '../../base/json.ts';
import { groupEvents, profileEvents } from '../contract/profile-events.ts';
import { groupNameOf } from './group-names.ts';
import { profileFlag } from './stored-properties.ts';

/** Why an event about persons or groups is not stored. */
export interface ProfileRefusal {
  readonly code: 'invalid_event_when_process_person_profile_is_false' | 'invalid_group_set';
  readonly detail: string;
  /** Place in the event. */
  readonly attr: string;
}

type Properties = Readonly<Record<string, unknown>>;

/** Of an event that must have a person and says that it has none; undefined: it is not refused. */
export function profileRefusal(event: string, properties: Properties): ProfileRefusal | undefined {
  const isRefused =
    profileEvents.has(event) && Object.hasOwn(properties, profileFlag) && properties[profileFlag] === false;
  if (!isRefused) return undefined;
  return {
    code: 'invalid_event_when_process_person_profile_is_false',
    detail: `expected "${profileFlag}" to be absent or true on ${event}, got: false`,
    attr: `properties.${profileFlag}`,
  };
}

/** Of an event that says of a named group what is no object. */
export function groupRefusal(event: string, properties: Properties): ProfileRefusal | undefined {
  if (!groupEvents.has(event) || !namesGroup(properties)) return undefined;
  const set = groupSetOf(properties);
  if (isObject(set)) return undefined;
  const got = JSON.stringify(set).slice(0, 40);
  return {
    code: 'invalid_group_set',
    detail: `expected "$group_set" to be an object, got: ${got}`,
    attr: 'properties.$group_set',
  };
}

function namesGroup(properties: Properties): boolean {
  return (
    groupNameOf(properties['$group_type']) !== undefined &&
    groupNameOf(properties['$group_key'], Infinity) !== undefined
  );
}

/** An empty list is the empty map of PHP. */
export function groupSetOf<Value>(properties: Readonly<Record<string, Value>>): Value | Record<string, never> {
  const given = properties['$group_set'] ?? {};
  return Array.isArray(given) && given.length === 0 ? {} : given;
}
