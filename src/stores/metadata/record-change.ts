import { isoMicros } from '../../base/clock.ts';
import type { ActivityScope } from '../../wire/contract/activity.ts';
import { writeActivities, type Actor } from './activity.ts';
import { changedFields, type Fields } from './changed-fields.ts';
import type { Queries } from './queries.ts';

export interface RecordedChange {
  /** Null: an item of the whole organisation. */
  readonly projectId: number | null;
  readonly scope: ActivityScope;
  readonly itemId: string | number;
  readonly name: string;
  readonly activity: string;
  /** The record as it may be shown; absent: it is new. */
  readonly before?: Fields | undefined;
  /** Absent: it is gone. */
  readonly after?: Fields | undefined;
  /** ms since the epoch. */
  readonly now: number;
}

/** Writes what happened to a flat record into the activity log; to be called in the transaction of the change. */
export async function recordChange(tx: Queries, actor: Actor, change: RecordedChange): Promise<void> {
  const { projectId, scope, itemId, name, activity, before, after, now } = change;
  const changes = changedFields(before, after);
  const snapshot = after ?? before ?? {};
  await writeActivities(tx, actor, [
    { projectId, scope, itemId: String(itemId), name, activity, changes, snapshot, createdAt: isoMicros(now) },
  ]);
}

/** Who works on the store itself, without having signed in anywhere. */
export function systemActor(organizationId: string): Actor {
  return { organizationId, userId: null, keyId: null, requestId: null };
}
