import type { Actor } from './activity.ts';
import { changedFields, type Fields } from './changed-fields.ts';
import type { Queries } from './queries.ts';
import { recordChange } from './record-change.ts';
import type { User } from './users.ts';

export interface UserChange {
  readonly user: User;
  /** Absent if the user is new. */
  readonly before?: User;
  /** Absent if the user was deleted. */
  readonly after?: User;
  /** Overrides the activity derived from the change. */
  readonly activity?: string;
  /** ms since the epoch. */
  readonly now: number;
}

/** Writes the change of a user to the activity log, in the transaction of the change. */
export async function recordUser(tx: Queries, actor: Actor, change: UserChange): Promise<void> {
  const { user, before, after, now } = change;
  const activity = change.activity ?? activityOf(before, after);
  if (activity === undefined) return;
  await recordChange(tx, actor, {
    projectId: null,
    scope: 'User',
    itemId: user.id,
    activity,
    name: user.email || user.firstName,
    before: before && logged(before),
    after: after && logged(after),
    now,
  });
}

/** Returns undefined if nothing changed. */
function activityOf(before: User | undefined, after: User | undefined): string | undefined {
  if (before === undefined) return 'created';
  if (after === undefined) return 'deleted';
  if (before.deactivatedAt !== after.deactivatedAt) return after.deactivatedAt === null ? 'reactivated' : 'deactivated';
  if (before.role !== after.role) return 'role_changed';
  return changedFields(logged(before), logged(after)).length === 0 ? undefined : 'updated';
}

function logged({ firstName, email, role, deactivatedAt }: User): Fields {
  return { first_name: firstName, email, role, is_active: deactivatedAt === null };
}
