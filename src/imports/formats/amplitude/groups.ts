import { isObject } from '../../../base/json.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import type { EventWriter } from '../event-writer.ts';
import type { Contents } from '../reader-memory.ts';
import { idOf, setMember, type Json, type Properties } from '../read-values.ts';
import type { WireEvent } from '../../../contract/wire-event.ts';

/** Adds `$groups`: one key per type. All of them stay in `amplitude_groups` where a type has several. */
export function addGroups(record: Json, properties: Properties): void {
  const groups = record['groups'];
  if (!isObject(groups)) return;
  let found: Properties | undefined;
  let several = false;
  for (const type of Object.keys(groups)) {
    const value = groups[type];
    const keys: readonly unknown[] = Array.isArray(value) ? (value as readonly unknown[]) : [value];
    const key = idOf(keys[0]);
    several ||= keys.length > 1;
    if (key === undefined) continue;
    found ??= {};
    setMember(found, type, key);
  }
  if (found !== undefined) properties['$groups'] = found;
  if (several) properties['amplitude_groups'] = groups;
}

/** `$groupidentify` for each group whose properties are not those of its last record. */
export function createGroupReader(
  writer: EventWriter,
  contents: Contents,
): (record: Json, timestamp: string) => readonly WireEvent[] {
  return (record, timestamp) => {
    const types = record['group_properties'];
    if (!isObject(types)) return [];
    const events: WireEvent[] = [];
    for (const [type, keys] of Object.entries(types)) {
      if (type === '' || !isObject(keys)) continue;
      for (const [key, values] of Object.entries(keys)) {
        const event = isObject(values) && key.trim() !== '' ? changed(type, key, values, timestamp) : undefined;
        if (event !== undefined) events.push(event);
      }
    }
    return events;
  };

  function changed(type: string, key: string, values: Json, timestamp: string): WireEvent | undefined {
    const content = canonicalJson(values) ?? '';
    if (content === '{}') return undefined;
    if (!contents.isChange(`${type}\u001f${key}`, content)) return undefined;
    const properties = { $group_type: type, $group_key: key, $group_set: values, $groups: { [type]: key } };
    // Values that come back after others are a change again, which must not be taken for the first one.
    const uuid = writer.countedInRun('$groupidentify', type, key, content);
    return writer.event(uuid, '$groupidentify', `$${type}_${key}`, timestamp, properties);
  }
}
