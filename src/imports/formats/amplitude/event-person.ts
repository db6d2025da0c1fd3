import { isObject } from '../../../base/json.ts';
import { addPersonOfEvent } from '../add-person-of-event.ts';
import { rename, type Names } from '../names.ts';
import { setMember, type Json, type Properties } from '../read-values.ts';

/** What Amplitude writes for "came from nowhere". */
export const none = 'EMPTY';

/** The user properties of the moment, in `$set` and `$set_once`. */
export function addPerson(record: Json, names: Names | undefined, properties: Properties): void {
  const source = record['user_properties'];
  if (names === undefined || !isObject(source)) return addPersonOfEvent(properties);
  const set: Properties = {};
  const setOnce: Properties = {};
  const renamed: Properties = {};
  rename(source, names, renamed);
  for (const key of Object.keys(renamed)) {
    const value = renamed[key];
    if (value === null || value === undefined) continue;
    if (!isInitial(key)) setMember(set, key, value);
    else if (value !== none) setMember(setOnce, key, value);
  }
  addPersonOfEvent(properties, set, setOnce);
}

/** Whether a property says how the person first came. */
export function isInitial(name: string): boolean {
  return name.startsWith('$initial_') || name.startsWith('initial_');
}
