import { withoutPersonChanges } from '../../wire/contract/profile-events.ts';
import { identityProperty, runProperty } from '../../wire/contract/wire-event.ts';
import type { MergeRule } from '../persons/merge-persons.ts';
import { noChanges, unsetNames, type PropertyChanges } from '../persons/registers.ts';
import { isObject, type JsonObject } from '../../base/json.ts';
import type { EventDraft, PersonIntent } from '../event-draft.ts';
import { deadLetter, type Outcome } from '../outcome.ts';
import { otherIdIn } from '../../wire/batch/other-id.ts';
import { profileRefusal } from '../../wire/batch/profile-refusals.ts';
import { profileFlag, unstoredKeys, withoutKeys } from '../../wire/batch/stored-properties.ts';

/** Resolves the event's changes to persons, subject to `$process_person_profile`. */
export function resolveProfile(draft: EventDraft): Outcome {
  const { properties } = draft;
  const flag = Object.hasOwn(properties, profileFlag) ? properties[profileFlag] : undefined;
  removeKeys(draft, unstoredKeys(draft.event, properties));
  if (flag === false) {
    const refusal = profileRefusal(draft.event, properties);
    return refusal && deadLetter(refusal.code, refusal.detail, refusal.attr);
  }
  if (flag !== undefined && flag !== true) {
    const details = { eventUuid: draft.uuid, distinctId: draft.distinctId, value: shownFlag(flag).slice(0, 60) };
    draft.warnings.push({ type: 'invalid_process_person_profile', details });
  }
  draft.person = personIntent(draft);
  return undefined;
}

function removeKeys(draft: EventDraft, keys: readonly string[]): void {
  if (keys.length === 0) return;
  draft.properties = withoutKeys(draft.properties, keys);
  draft.propertiesText = null;
}

function personIntent({ event, properties }: EventDraft): PersonIntent {
  const changes = withoutPersonChanges.has(event) ? noChanges : readChanges(properties);
  const otherId = otherIdIn(event, properties);
  const merge = otherId === undefined ? null : { otherId, rule: ruleOf(event, properties) };
  return { merge, changes };
}

/**
 * Returns the rule of the event's merge. Imported history contains later users of a device as well, and only the whole history shows
 * which user is the first. Ids that the source itself has joined are one person, whichever of them exists already.
 */
function ruleOf(event: string, properties: JsonObject): MergeRule {
  if (event !== '$identify') return event === '$merge_dangerously' ? 'always' : 'unless_identified';
  const mark = properties[identityProperty];
  if (properties[runProperty] === undefined || mark === 'merge') return 'unless_identified';
  return mark === 'joined' ? 'always' : 'first_user';
}

function readChanges(properties: JsonObject): PropertyChanges {
  const set = properties['$set'];
  const setOnce = properties['$set_once'];
  const unset = unsetNames(properties['$unset']);
  if (!isObject(set) && !isObject(setOnce) && unset.length === 0) return noChanges;
  return { set: isObject(set) ? set : null, setOnce: isObject(setOnce) ? setOnce : null, unset };
}

function shownFlag(flag: unknown): string {
  return typeof flag === 'string' ? flag : JSON.stringify(flag);
}
