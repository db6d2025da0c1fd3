import { isoMicros } from '../../base/clock.ts';
import type { Queries } from '../../metadata/queries.ts';
import { writeActivities } from './activity.ts';
import { changesBetween } from './config-changes.ts';
import { shownName, toRecord } from './config-record.ts';
import type { ConfigSnapshot } from './save-changes.ts';
import { findAnyConfig } from './stored-config.ts';

/**
 * Records what a run of the config ended in: one sentence, or `""` for well. Only a change of state is written and
 * logged (as done by the service itself), so calling it per run is cheap. Workers are not told: nothing for them changed.
 * `tx` is a transaction; the text must hold no secret (plugins/mask-secrets.ts). A config that is gone is left alone.
 */
export async function setConfigError(tx: Queries, configId: number, error: string, now: number): Promise<void> {
  const before = await findAnyConfig(tx, configId, now);
  if (before === undefined || before.error === error) return;
  const after = { ...before, error };
  await tx.updateTable('plugin_configs').set({ error }).where('id', '=', configId).execute();
  const { organization_id: organizationId } = await tx
    .selectFrom('projects')
    .select('organization_id')
    .where('id', '=', before.projectId)
    .executeTakeFirstOrThrow();
  const snapshot: ConfigSnapshot = { family: before.family, record: toRecord(after) };
  await writeActivities(tx, { organizationId, userId: null, keyId: null, requestId: null }, [
    {
      projectId: before.projectId,
      scope: 'PluginConfig',
      itemId: String(configId),
      activity: error === '' ? 'recovered' : 'failed',
      name: shownName(after),
      changes: changesBetween(before, after),
      snapshot,
      createdAt: isoMicros(now),
    },
  ]);
}
