import { isoMicros } from '../../base/clock.ts';
import type { ActivityScope } from '../../wire/contract/activity.ts';
import { writeActivities, type Actor } from './activity.ts';
import { changedFields, type Fields } from './changed-fields.ts';
import type { Queries } from './queries.ts';

export interface RecordedChange {
  /** `null` means an item of the whole organisation. */
  readonly projectId: number | null;
  readonly scope: ActivityScope;
  readonly itemId: string | number;
  readonly name: string;
  readonly activity: string;
  /** The record before the change, without secrets. Absent if it is new. */
  readonly before?: Fields | undefined;
  /** The record after the change. Absent if it was deleted. */
  readonly after?: Fields | undefined;
  /** ms since the epoch. */
  readonly now: number;
}

/** Writes the change of a flat record to the activity log; call it in the transaction of the change. */
export async function recordChange(tx: Queries, actor: Actor, change: RecordedChange): Promise<void> {
  const { projectId, scope, itemId, name, activity, before, after, now } = change;
  const changes = changedFields(before, after);
  const snapshot = after ?? before ?? {};
  await writeActivities(tx, actor, [
    { projectId, scope, itemId: String(itemId), name, activity, changes, snapshot, createdAt: isoMicros(now) },
  ]);
}

/** Returns the actor for work on the store itself, without a signed-in user. */
export function systemActor(organizationId: string): Actor {
  return { organizationId, userId: null, keyId: null, requestId: null };
}
