import { expiryOf, keepsAll, keptSinceOf } from '../../stores/events/retention-policy.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { findPolicy } from '../../stores/metadata/retention-policies.ts';

/** Returns the time (ms since the epoch) before which historical events of this name have expired; `null` if they never do. */
export type ExpiredBefore = (event: string) => number | null;

/** Returns what the retention of a project means for an import into it; `undefined` if it keeps all events. `now` in ms. */
export async function expiredBeforeIn(db: Queries, projectId: number, now: number): Promise<ExpiredBefore | undefined> {
  const policy = (await findPolicy(db, projectId))?.policy;
  if (policy === undefined || keepsAll(policy)) return undefined;
  const expiry = expiryOf(projectId, policy, now);
  return (event) => {
    const since = keptSinceOf(expiry, event, true);
    return since === null ? null : Number(since / 1000n);
  };
}
