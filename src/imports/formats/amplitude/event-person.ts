import { isObject } from '../../../base/json.ts';
import { addPersonOfEvent } from '../add-person-of-event.ts';
import { rename, type Names } from '../names.ts';
import type { FoundNote } from '../record-notes.ts';
import { setMember, type Json, type Properties } from '../read-values.ts';
import { userChanges } from './user-operations.ts';

/** What Amplitude writes for "came from nowhere". */
export const none = 'EMPTY';

/** The user properties of the moment, in `$set`, `$set_once` and `$unset`. */
export function addPerson(record: Json, names: Names | undefined, properties: Properties): readonly FoundNote[] {
  const source = record['user_properties'];
  if (names === undefined || !isObject(source)) {
    addPersonOfEvent(properties);
    return [];
  }
  const changes = userChanges(source);
  const set: Properties = {};
  const setOnce: Properties = {};
  const renamed: Properties = {};
  rename(changes.set, names, renamed);
  for (const key of Object.keys(renamed)) {
    const value = renamed[key];
    if (value === null || value === undefined) continue;
    if (!isInitial(key)) setMember(set, key, value);
    else if (value !== none) setMember(setOnce, key, value);
  }
  const once: Properties = {};
  rename(changes.setOnce, names, once);
  for (const key of Object.keys(once)) if (once[key] !== null && once[key] !== none) setMember(setOnce, key, once[key]);
  const unset = changes.unset.flatMap((name) => names.get(name) ?? (names.has(name) ? [] : name));
  if (unset.length > 0) properties['$unset'] = unset;
  addPersonOfEvent(properties, set, setOnce);
  const [sample] = changes.notApplied;
  return sample === undefined ? [] : [{ of: 'amplitude_operations', sample }];
}

/** Whether a property says how the person first came. */
export function isInitial(name: string): boolean {
  return name.startsWith('$initial_') || name.startsWith('initial_');
}
