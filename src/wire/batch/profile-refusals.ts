import { isObject } from '../../base/json.ts';
import { groupEvents, profileEvents } from '../contract/profile-events.ts';
import { groupNameOf } from './group-names.ts';
import { profileFlag } from './stored-properties.ts';

/** Why an event about persons or groups is not stored. */
export interface ProfileRefusal {
  readonly code: 'invalid_event_when_process_person_profile_is_false' | 'invalid_group_set';
  readonly detail: string;
  /** Path in the event. */
  readonly attr: string;
}

type Properties = Readonly<Record<string, unknown>>;

/** Refuses an event that requires a person but disables person processing. */
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

/** Refuses an event whose `$group_set` for a named group is not an object. */
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

/** Returns `$group_set`. PHP writes an empty map as an empty list. */
export function groupSetOf<Value>(properties: Readonly<Record<string, Value>>): Value | Record<string, never> {
  const given = properties['$group_set'] ?? {};
  return Array.isArray(given) && given.length === 0 ? {} : given;
}
