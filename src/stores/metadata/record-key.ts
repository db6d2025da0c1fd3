import type { Actor } from './activity.ts';
import type { Fields } from './changed-fields.ts';
import type { PersonalApiKey } from './personal-api-keys.ts';
import type { Queries } from './queries.ts';
import { recordChange } from './record-change.ts';

export interface KeyChange {
  readonly activity: 'created' | 'rolled' | 'deleted';
  /** The key after the change, or the deleted key. */
  readonly key: PersonalApiKey;
  /** A rolled key before the change. */
  readonly before?: PersonalApiKey;
  /** ms since the epoch. */
  readonly now: number;
}

/** Writes the change of a personal key, never its value, to the activity log, in the transaction of the change. */
export async function recordKey(tx: Queries, actor: Actor, { activity, key, before, now }: KeyChange): Promise<void> {
  const isGone = activity === 'deleted';
  const old = isGone ? key : before;
  await recordChange(tx, actor, {
    projectId: null,
    scope: 'PersonalApiKey',
    itemId: key.id,
    name: key.label,
    activity,
    before: old && logged(old),
    after: isGone ? undefined : logged(key),
    now,
  });
}

function logged({ userId, label, maskValue, scopes, scopedProjects, expiresAt }: PersonalApiKey): Fields {
  const record = { user_id: userId, label, mask_value: maskValue, scopes };
  return { ...record, scoped_teams: scopedProjects, expires_at: expiresAt };
}
