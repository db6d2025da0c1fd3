import { canonicalJson } from '../../../base/canonical-json.ts';
import { unreadable, imported, type EventWriter } from '../event-writer.ts';
import { FormatOptionsError, type RecordResult } from '../format.ts';
import { idOf, kindOf, objectOfJson, type Json } from '../read-values.ts';
import { anyTime, kindOfTimes, type Zone } from '../times.ts';

/** Types of groups by their index, which is a project's own. */
export type GroupTypes = ReadonlyMap<string, string>;

/** `0:company,1:team`. Throws FormatOptionsError. */
export function groupTypesOf(text: string): GroupTypes {
  const pairs = text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  return new Map(
    pairs.map((pair) => {
      const [, index, type] = /^(\d{1,2}):\s*(\S.*)$/.exec(pair) ?? [];
      if (index !== undefined && type !== undefined) return [index, type] as const;
      throw new FormatOptionsError(
        `group_types: expected indexes and types such as 0:company,1:team, got: ${pair.slice(0, 60)}`,
      );
    }),
  );
}

/** A row of the table of groups, or a result of the groups API: neither has an event. */
export function isGroup(record: Json): boolean {
  if (record['event'] !== undefined || record['distinct_id'] !== undefined) return false;
  return (
    record['group_key'] !== undefined ||
    (record['key'] !== undefined && record['index'] !== undefined && record['properties'] !== undefined)
  );
}

/** `$groupidentify` with all that the group has; its id follows from that, so that the same group again is the same event. */
export function createGroupReader(writer: EventWriter, types: GroupTypes, zone: Zone): (record: Json) => RecordResult {
  return (record) => {
    const key = idOf(record['group_key'] ?? record['key']);
    if (key === undefined)
      return unreadable(`expected the key of the group in group_key, got ${kindOf(record['group_key'])}`);
    const index = idOf(record['group_type_index'] ?? record['index']);
    const type = idOf(record['group_type']) ?? types.get(index ?? '');
    if (type === undefined) {
      return unreadable(
        index === undefined
          ? 'expected the type of the group in group_type, or its index in group_type_index'
          : `expected the type of groups with the index ${index.slice(0, 10)} in the option group_types, such as ${index.slice(0, 10)}:company`,
      );
    }
    const set = objectOfJson(record['group_properties'] ?? record['properties'] ?? {});
    if (set === undefined) return unreadable('expected group_properties to be an object or its JSON');
    const timestamp = timeOf(record, zone);
    if (timestamp === undefined) {
      return unreadable(`expected a time in updated_at, _timestamp or created_at, got ${kindOfTimes(record, times)}`);
    }
    const properties = { $group_type: type, $group_key: key, $group_set: set, $groups: { [type]: key } };
    const idParts = ['$groupidentify', type, key, canonicalJson(set) ?? ''];
    return imported([writer.generated(idParts, '$groupidentify', `$${type}_${key}`, timestamp, properties)]);
  };
}

const times = ['updated_at', '_timestamp', '_inserted_at', 'created_at'] as const;

/** When it was as it is: what a later event says of the group counts more. */
function timeOf(record: Json, zone: Zone): string | undefined {
  for (const column of times) {
    const time = anyTime(record[column], zone);
    if (time !== undefined) return time;
  }
  return undefined;
}
