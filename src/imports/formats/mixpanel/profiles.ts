import { isObject } from '../../../base/json.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import { imported, unreadable, type EventWriter } from '../event-writer.ts';
import { FormatOptionsError, type FormatOptions, type NameTable, type RecordResult } from '../format.ts';
import { plainIdOf } from './ids.ts';
import { namesOf, rename } from '../names.ts';
import { idOf, kindOf, type Json, type Properties, setMember } from '../read-values.ts';
import { isPlaceholderId } from '../../../base/placeholder-ids.ts';
import { anyTime, kindOfTimes, textTime, type Zone } from '../times.ts';

/** Whether a record is a profile of a user or a group: their id has a `$`, unlike in events. */
export function isProfile(record: Json): boolean {
  return record['$distinct_id'] !== undefined || record['$group_id'] !== undefined;
}

/** Reads profiles of users (`$set`) and groups (`$groupidentify`). Throws FormatOptionsError for an invalid profile_time. */
export function createProfileReader(
  writer: EventWriter,
  names: NameTable,
  zone: Zone,
  options: FormatOptions,
): (record: Json) => RecordResult {
  const personNames = namesOf(names.person_properties);
  const given = options['profile_time'] ?? '';
  const profileTime = given === '' ? undefined : textTime(given, zone);
  if (given !== '' && profileTime === undefined) {
    throw new FormatOptionsError(
      `profile_time: expected a time such as 2024-05-01T00:00:00Z, got: ${given.slice(0, 60)}`,
    );
  }
  const groupType = options['group_type'] ?? '';
  return (record) => {
    const values = valuesOf(record);
    const timestamp = anyTime(values['$last_seen'], zone) ?? anyTime(values['$created'], zone) ?? profileTime;
    if (timestamp === undefined) {
      const got = kindOfTimes(values, ['$last_seen', '$created']);
      return unreadable(`expected a time in $last_seen or $created, or the option profile_time, got ${got}`);
    }
    const properties: Properties = {};
    rename(values, personNames, properties);
    const type = idOf(record['$group_key']) ?? groupType;
    return record['$group_id'] !== undefined || type !== ''
      ? groupProfile(record, type, timestamp, properties, writer)
      : userProfile(record, timestamp, properties, writer);
  };
}

/** API results have the values in `$properties`, CSV rows next to the id. */
function valuesOf(record: Json): Json {
  if (isObject(record['$properties'])) return record['$properties'];
  const { $distinct_id: _, $group_id: __, $group_key: ___, ...values } = record;
  return values;
}

function userProfile(record: Json, timestamp: string, set: Properties, writer: EventWriter): RecordResult {
  const distinctId = plainIdOf(record['$distinct_id']);
  if (distinctId === undefined) return unreadable(`expected $distinct_id, got ${kindOf(record['$distinct_id'])}`);
  if (isPlaceholderId(distinctId)) return { kind: 'skipped', reason: 'profile of a placeholder id' };
  const idParts = ['$set', distinctId, canonicalJson(set) ?? ''];
  return imported([writer.generated(idParts, '$set', distinctId, timestamp, { $set: set })]);
}

/** Results of the groups API name the key of the group `$distinct_id`. */
function groupProfile(
  record: Json,
  type: string,
  timestamp: string,
  set: Properties,
  writer: EventWriter,
): RecordResult {
  const key = idOf(record['$group_id'] ?? record['$distinct_id']);
  if (key === undefined)
    return unreadable(`expected the key of the group in $group_id, got ${kindOf(record['$group_id'])}`);
  if (type === '') return unreadable('expected the type of the group in $group_key, or the option group_type');
  const idParts = ['$groupidentify', type, key, canonicalJson(set) ?? ''];
  const properties = { $group_type: type, $group_key: key, $group_set: set, $groups: { [type]: key } };
  return imported([writer.generated(idParts, '$groupidentify', `$${type}_${key}`, timestamp, properties)]);
}

/** A property of events with a group key, and the type of that group. */
export interface GroupProperty {
  readonly property: string;
  readonly type: string;
}

/** Parses `company_id,plan:tier`. */
export function groupProperties(text: string): readonly GroupProperty[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
    .map((each) => {
      const [property = '', type = property] = each.split(':');
      return { property, type };
    });
}

export function groupsOf(source: Json, groups: readonly GroupProperty[]): Properties | undefined {
  let found: Properties | undefined;
  for (const { property, type } of groups) {
    const value = Object.hasOwn(source, property) ? source[property] : undefined;
    // In Mixpanel an event may belong to several groups of a type, here only to one.
    const key = idOf(Array.isArray(value) ? (value as readonly unknown[])[0] : value);
    if (key === undefined) continue;
    found ??= {};
    setMember(found, type, key);
  }
  return found;
}
