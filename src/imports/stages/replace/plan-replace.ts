import { StoreUnavailableError } from '../../../stores/events/eventstore.ts';
import type { RunToReplace } from '../../run/results.ts';
import { getRun } from '../../run/run-store.ts';
import { TargetWaitError } from '../../target.ts';
import { planUndo, type PlanDeps } from '../undo/plan-undo.ts';

/** Returns what undoing these runs would do, with counts. Changes nothing. Throws TargetWaitError. */
export async function planReplace(
  deps: PlanDeps,
  projectId: number,
  runs: readonly string[],
): Promise<readonly RunToReplace[]> {
  const plans: RunToReplace[] = [];
  for (const id of runs) {
    const run = await getRun(deps.db, id, { projectId });
    // It was deleted with its config in the meantime; the stage skips it too.
    if (run === undefined) continue;
    try {
      const plan = await planUndo(deps, run);
      const { source, state } = run;
      plans.push({ run: id, source, created_at: new Date(run.createdAt).toISOString(), state, plan });
    } catch (cause) {
      if (!(cause instanceof StoreUnavailableError)) throw cause;
      throw new TargetWaitError('the event store is busy or cannot be reached', { cause });
    }
  }
  return plans;
}
