import { groupKeyLengthMax } from '../../persons/group-store.ts';
import { exactNumber } from '../../base/exact-json.ts';
import { isObject, type JsonValue } from '../../base/json.ts';
import type { EventDraft } from '../event-draft.ts';
import { deadLetter, type Outcome } from '../outcome.ts';

/** Client libraries say `$groupidentify`, the documentation `$group_identify`: the same event. */
export function isGroupIdentify(event: string): boolean {
  return event === '$groupidentify' || event === '$group_identify';
}

/** Which group types the event mentions, and what it says of a group. */
export function readGroups(draft: EventDraft): Outcome {
  const { properties } = draft;
  const groups = Object.hasOwn(properties, '$groups') ? properties['$groups'] : undefined;
  const typeNames = isObject(groups)
    ? Object.entries(groups)
        .filter(([name, key]) => nameOf(name) !== undefined && nameOf(key) !== undefined)
        .map(([name]) => clean(name))
    : [];
  if (typeNames.length > 0) draft.groups = { typeNames, update: null };
  return isGroupIdentify(draft.event) ? readUpdate(draft, typeNames) : undefined;
}

function readUpdate(draft: EventDraft, typeNames: readonly string[]): Outcome {
  const { properties } = draft;
  const typeName = nameOf(properties['$group_type']);
  const key = nameOf(properties['$group_key'], Infinity);
  if (typeName === undefined || key === undefined) return undefined;
  const given = properties['$group_set'] ?? {};
  // PHP's empty map.
  const set = Array.isArray(given) && given.length === 0 ? {} : given;
  if (!isObject(set)) {
    const got = JSON.stringify(set).slice(0, 40);
    const detail = `expected "$group_set" to be an object, got: ${got}`;
    return deadLetter('invalid_group_set', detail, 'properties.$group_set');
  }
  if (key.length > groupKeyLengthMax) {
    const details = { eventUuid: draft.uuid, groupType: typeName, groupKey: key.slice(0, 60), length: key.length };
    draft.warnings.push({ type: 'group_key_too_long', details });
    return undefined;
  }
  draft.groups = { typeNames: [...new Set([...typeNames, typeName])], update: { typeName, key, set } };
  return undefined;
}

/** A type or key as text; undefined when it names nothing. */
function nameOf(value: JsonValue | undefined, lengthMax = groupKeyLengthMax): string | undefined {
  const exact = exactNumber(value);
  if (exact !== undefined) return exact;
  if (typeof value === 'number') return value === 0 ? undefined : String(value);
  if (typeof value !== 'string' || value === '' || value.length > lengthMax) return undefined;
  return clean(value);
}

function clean(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text).toWellFormed();
}
