import { historicalExpiry } from '../../stores/events/retention-policy.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { findPolicy } from '../../stores/metadata/retention-policies.ts';
import type { ExpiredBefore } from '../target.ts';

/** Returns what the retention of a project means for an import into it; `undefined` if it keeps all events. `now` in ms. */
export async function expiredBeforeIn(db: Queries, projectId: number, now: number): Promise<ExpiredBefore | undefined> {
  const policy = (await findPolicy(db, projectId))?.policy;
  return policy && historicalExpiry(policy, now);
}
