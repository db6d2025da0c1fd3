import type { Queries } from '../../stores/metadata/queries.ts';
import { findPlan } from '../../stores/metadata/tracking-plans.ts';
import { listConfigs } from '../../plugins/configs/stored-config.ts';
import type { RunOptions } from './run.ts';

/** A tracking plan as text, for threads, processes and files. */
export interface PlanText {
  readonly version: number;
  /** JSON: TrackingPlan. */
  readonly plan: string;
}

/** Returns the names of the enabled transformations of a project. */
export async function activeTransformations(db: Queries, projectId: number, now: number): Promise<readonly string[]> {
  const configs = await listConfigs(db, { projectId, family: 'transformation', now });
  return configs.filter(({ enabled }) => enabled).map(({ name, plugin }) => name || plugin.name);
}

/**
 * Returns the plan that the check of a run applies; `undefined` if the pipeline does, because events pass transformations of the
 * project first, or the target has its own plan.
 *
 * @param now ms since the epoch
 */
export async function trackingPlanOf(
  db: Queries,
  projectId: number,
  { kind }: RunOptions['target'],
  now: number,
): Promise<PlanText | undefined> {
  if (kind !== 'project') return undefined;
  const found = await findPlan(db, projectId);
  if (found === undefined || found.plan === null) return undefined;
  const active = await activeTransformations(db, projectId, now);
  return active.length > 0 ? undefined : { version: found.version, plan: found.plan };
}
