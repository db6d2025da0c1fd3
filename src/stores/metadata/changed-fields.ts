import type { ActivityChange } from '../../wire/contract/activity.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Returns the differing fields of a flat record for the activity log. `undefined` means that the record does not exist. */
export function changedFields(before: Fields | undefined, after: Fields | undefined): ActivityChange[] {
  const names = Object.keys({ ...before, ...after });
  return names.flatMap((field): ActivityChange[] => {
    const [old, now] = [before?.[field] ?? null, after?.[field] ?? null];
    if (JSON.stringify(old) === JSON.stringify(now)) return [];
    const action = old === null ? 'created' : now === null ? 'deleted' : 'changed';
    return [{ field, action, before: old, after: now }];
  });
}
