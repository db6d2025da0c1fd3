import { isObject } from '../../../base/json.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import type { EventWriter } from '../event-writer.ts';
import type { Links } from '../reader-memory.ts';
import { idOf, setMember, type Json, type Properties } from '../read-values.ts';
import type { WireEvent } from '../../../wire/contract/wire-event.ts';

/** Adds `$groups` with one key per type. If a type has several, all of them are kept in `amplitude_groups`. */
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

/**
 * Returns a `$groupidentify` for each group with properties. Most records repeat the properties of the group, and records are not
 * sorted by time: for each content, the latest of a UTC day is kept. So the final state of every day is present, whatever states
 * preceded it.
 */
export function createGroupReader(
  writer: EventWriter,
  links: Links,
): (record: Json, timestamp: string) => readonly WireEvent[] {
  return (record, timestamp) => {
    const types = record['group_properties'];
    if (!isObject(types)) return [];
    const events: WireEvent[] = [];
    for (const [type, keys] of Object.entries(types)) {
      if (type === '' || !isObject(keys)) continue;
      for (const [key, values] of Object.entries(keys)) {
        const event = isObject(values) && key.trim() !== '' ? groupEvent(type, key, values, timestamp) : undefined;
        if (event !== undefined) events.push(event);
      }
    }
    return events;
  };

  function groupEvent(type: string, key: string, values: Json, timestamp: string): WireEvent | undefined {
    const content = canonicalJson(values) ?? '';
    if (content === '{}') return undefined;
    const properties = { $group_type: type, $group_key: key, $group_set: values, $groups: { [type]: key } };
    const idParts = ['$groupidentify', type, key, content, timestamp.slice(0, 10)];
    const event = writer.generated(idParts, '$groupidentify', `$${type}_${key}`, timestamp, properties);
    return links.isLatest(event.uuid, Date.parse(timestamp) * 1000) ? event : undefined;
  }
}
