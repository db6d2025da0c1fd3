import type { ActivityChange } from '../../wire/contract/activity.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** The fields of a flat record that differ, as the activity log shows them. Undefined: it is not there yet, or any more. */
export function changedFields(before: Fields | undefined, after: Fields | undefined): ActivityChange[] {
  const names = Object.keys({ ...before, ...after });
  return names.flatMap((field): ActivityChange[] => {
    const [old, now] = [before?.[field] ?? null, after?.[field] ?? null];
    if (JSON.stringify(old) === JSON.stringify(now)) return [];
    const action = old === null ? 'created' : now === null ? 'deleted' : 'changed';
    return [{ field, action, before: old, after: now }];
  });
}
