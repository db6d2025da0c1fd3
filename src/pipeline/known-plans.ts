import { parseExact } from '../base/exact-json.ts';
import type { Queries } from '../stores/metadata/queries.ts';
import { findPlanVersion, planVersions } from '../stores/metadata/tracking-plans.ts';
import { compilePlan, type CompiledPlan } from '../wire/tracking-plan/compile-plan.ts';
import { readPlan } from '../wire/tracking-plan/read-plan.ts';
import { createKnownByVersion, type KnownByVersion } from './known-by-version.ts';

/** Caches the compiled tracking plans of projects. */
export function createKnownPlans(db: Queries): KnownByVersion<CompiledPlan> {
  return createKnownByVersion({
    versions: (ids) => planVersions(db, ids),
    isSame: (one, other) => one === other,
    read: async (projectId, version) => {
      const plan = (await findPlanVersion(db, projectId, version))?.plan ?? undefined;
      return plan === undefined ? undefined : compilePlan(readPlan(parseExact(plan)));
    },
  });
}
