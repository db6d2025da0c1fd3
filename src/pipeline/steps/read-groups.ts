import { isObject } from '../../base/json.ts';
import { groupEvents } from '../../wire/contract/profile-events.ts';
import { groupKeyLengthMax, groupNameOf, groupTypesIn } from '../../wire/batch/group-names.ts';
import { groupRefusal, groupSetOf } from '../../wire/batch/profile-refusals.ts';
import type { EventDraft } from '../event-draft.ts';
import { deadLetter, type Outcome } from '../outcome.ts';

/** Reads the group types in the event and its change to a group. */
export function readGroups(draft: EventDraft): Outcome {
  const { properties } = draft;
  const typeNames = groupTypesIn(Object.hasOwn(properties, '$groups') ? properties['$groups'] : undefined);
  if (typeNames.length > 0) draft.groups = { typeNames, update: null };
  return groupEvents.has(draft.event) ? readUpdate(draft, typeNames) : undefined;
}

function readUpdate(draft: EventDraft, typeNames: readonly string[]): Outcome {
  const { properties } = draft;
  const typeName = groupNameOf(properties['$group_type']);
  const key = groupNameOf(properties['$group_key'], Infinity);
  if (typeName === undefined || key === undefined) return undefined;
  const refusal = groupRefusal(draft.event, properties);
  if (refusal !== undefined) return deadLetter(refusal.code, refusal.detail, refusal.attr);
  const set = groupSetOf(properties);
  if (key.length > groupKeyLengthMax) {
    const details = { eventUuid: draft.uuid, groupType: typeName, groupKey: key.slice(0, 60), length: key.length };
    draft.warnings.push({ type: 'group_key_too_long', details });
    return undefined;
  }
  draft.groups = {
    typeNames: [...new Set([...typeNames, typeName])],
    update: { typeName, key, set: isObject(set) ? set : {} },
  };
  return undefined;
}
