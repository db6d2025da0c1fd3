import { parseExact } from '../base/exact-json.ts';
import type { Queries } from '../stores/metadata/queries.ts';
import { findPlanVersion, planVersions } from '../stores/metadata/tracking-plans.ts';
import { compilePlan, type CompiledPlan } from '../wire/tracking-plan/compile-plan.ts';
import { readPlan } from '../wire/tracking-plan/read-plan.ts';

/** Caches the compiled tracking plans of projects. Saving one changes the config revision, after which versions are compared. */
export interface KnownPlans {
  /** Loads plans that are not cached for this revision. */
  load(revision: number, projectIds: Iterable<number>): Promise<void>;
  /** Returns `undefined` if the project has no plan. */
  of(projectId: number): CompiledPlan | undefined;
}

const idsPerQuery = 500;

interface Known {
  readonly version: number;
  readonly plan: CompiledPlan | undefined;
}

export function createKnownPlans(db: Queries): KnownPlans {
  let known = new Map<number, Known>();
  /** Those of the previous revision. */
  let earlier = new Map<number, Known>();
  let loadedFor = -1;
  const read = async (projectId: number, version: number): Promise<Known> => {
    const before = earlier.get(projectId);
    if (before?.version === version) return before;
    const found = version === 0 ? undefined : await findPlanVersion(db, projectId, version);
    const plan = found?.plan ?? undefined;
    return { version, plan: plan === undefined ? undefined : compilePlan(readPlan(parseExact(plan))) };
  };
  return {
    load: async (revision, projectIds) => {
      if (revision !== loadedFor) [earlier, known] = [known.size > 0 ? known : earlier, new Map()];
      loadedFor = revision;
      const missing = [...new Set(projectIds)].filter((id) => !known.has(id));
      for (let from = 0; from < missing.length; from += idsPerQuery) {
        const ids = missing.slice(from, from + idsPerQuery);
        const versions = await planVersions(db, ids);
        for (const id of ids) known.set(id, await read(id, versions.get(id) ?? 0));
      }
    },
    of: (projectId) => known.get(projectId)?.plan,
  };
}
