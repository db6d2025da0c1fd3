import type { Queries } from '../../stores/metadata/queries.ts';
import { writeActivities } from '../../stores/metadata/activity.ts';
import { entryOf } from '../../plugins/configs/save-changes.ts';
import { findAnyConfig } from '../../plugins/configs/stored-config.ts';
import type { Run } from './run.ts';

/**
 * Records in the activity log of the run's config that another run undoes it. The log of that run's start has the user. `tx` is a
 * transaction, `now` in ms. Deleted configs have no log.
 */
export async function recordReplacement(tx: Queries, undone: Run, replacedBy: string, now: number): Promise<void> {
  const config = await findAnyConfig(tx, undone.configId, now);
  if (config === undefined) return;
  const { organization_id: organizationId } = await tx
    .selectFrom('projects')
    .select('organization_id')
    .where('id', '=', undone.projectId)
    .executeTakeFirstOrThrow();
  const after = { type: 'undo', operation: 'start', run: undone.id, replaced_by: replacedBy };
  const entry = entryOf({ now }, config, 'job_triggered', [{ field: 'job', action: 'created', before: null, after }]);
  await writeActivities(tx, { organizationId, userId: null, keyId: null, requestId: null }, [entry]);
}
