/** How long the events of projects are kept, and when expired ones were last removed. */
import { isoMicros } from '../../base/clock.ts';
import type { RetentionPass, RetentionPolicy } from '../../wire/contract/retention.ts';
import type { Queries } from './queries.ts';

export interface StoredPolicy {
  readonly projectId: number;
  readonly policy: RetentionPolicy;
  readonly updatedAt: string;
  /** When the last pass over the project ended or the policy was last set, whichever is later; ms since the epoch. */
  readonly passedAt: number;
  readonly lastPass: RetentionPass | null;
}

/** Returns undefined if no policy was ever set: all events are kept. */
export async function findPolicy(db: Queries, projectId: number): Promise<StoredPolicy | undefined> {
  const row = await db
    .selectFrom('retention_policies')
    .selectAll()
    .where('project_id', '=', projectId)
    .executeTakeFirst();
  return row && toPolicy(row);
}

export async function listPolicies(db: Queries): Promise<StoredPolicy[]> {
  return (await db.selectFrom('retention_policies').selectAll().orderBy('project_id').execute()).map(toPolicy);
}

/** The policy is applied from the next night on, so that there is time to correct it. `now` in ms. */
export async function savePolicy(db: Queries, projectId: number, policy: RetentionPolicy, now: number): Promise<void> {
  const columns = { policy: JSON.stringify(policy), updated_at: isoMicros(now), passed_at: isoMicros(now) };
  await db
    .insertInto('retention_policies')
    .values({ project_id: projectId, ...columns, last_pass: null })
    .onConflict((conflict) => conflict.column('project_id').doUpdateSet(columns))
    .execute();
}

/** Records that a pass over these projects has ended. */
export async function recordPass(db: Queries, projectIds: readonly number[], pass: RetentionPass): Promise<void> {
  if (projectIds.length === 0) return;
  await db
    .updateTable('retention_policies')
    .set({ passed_at: pass.ended_at, last_pass: JSON.stringify(pass) })
    .where('project_id', 'in', projectIds)
    .execute();
}

interface PolicyRow {
  readonly project_id: number;
  readonly policy: string;
  readonly updated_at: string;
  readonly passed_at: string;
  readonly last_pass: string | null;
}

function toPolicy(row: PolicyRow): StoredPolicy {
  return {
    projectId: row.project_id,
    policy: JSON.parse(row.policy) as RetentionPolicy,
    updatedAt: row.updated_at,
    passedAt: Date.parse(row.passed_at),
    lastPass: row.last_pass === null ? null : (JSON.parse(row.last_pass) as RetentionPass),
  };
}
