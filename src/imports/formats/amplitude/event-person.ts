import { rename, type Names } from '../names.ts';
import { note } from '../read-by-map.ts';
import { setMember, type Json, type Properties } from '../read-values.ts';
import type { Draft } from '../record-map.ts';
import { userChanges, userOperations } from './user-operations.ts';

/** What Amplitude writes for "came from nowhere". */
export const none = 'EMPTY';

/** Whether a property says how the person first came. */
export function isInitial(name: string): boolean {
  return name.startsWith('$initial_') || name.startsWith('initial_');
}

export function hasOperations(user: Json): boolean {
  return userOperations.some((operation) => user[operation] !== undefined);
}

/** What operations say beside `$set`; those that are not applied are noted. */
export function applyOperations(user: Json, names: Names, draft: Draft): void {
  const { properties, setOnce } = draft;
  const changes = userChanges(user);
  const once: Properties = {};
  rename(changes.setOnce, names, once);
  for (const key of Object.keys(once)) if (once[key] !== null && once[key] !== none) setMember(setOnce, key, once[key]);
  const unset = changes.unset.flatMap((name) => names.get(name) ?? (names.has(name) ? [] : name));
  if (unset.length > 0) properties['$unset'] = unset;
  const [sample] = changes.notApplied;
  if (sample !== undefined) note(draft, { of: 'amplitude_operations', sample });
}
