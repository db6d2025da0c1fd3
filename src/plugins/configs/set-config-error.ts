import type { Queries } from '../../stores/metadata/queries.ts';
import { writeActivities } from '../../stores/metadata/activity.ts';
import { changesBetween } from './config-changes.ts';
import { entryOf } from './save-changes.ts';
import { findAnyConfig } from './stored-config.ts';

export interface ConfigError {
  /** One sentence without secrets (plugins/mask-secrets.ts); `""` means healthy. */
  readonly error: string;
  /** The reporter, which alone may clear the error: the chain of transformations, or another function of the plugin by name. */
  readonly source: string;
}

/** Source of errors of transformations: setup, and processed events. */
export const chainSource = 'chain';

/**
 * Records the result of a run of the config. Only a change of state is written and logged (as an action of the service), so
 * calling it per run is cheap. Workers are not notified because nothing changes for them. `tx` is a transaction. A deleted
 * config is ignored. `now` is in ms.
 */
export async function setConfigError(
  tx: Queries,
  configId: number,
  { error, source }: ConfigError,
  now: number,
): Promise<void> {
  const before = await findAnyConfig(tx, configId, now);
  if (before === undefined || before.error === error) return;
  const after = { ...before, error };
  await tx.updateTable('plugin_configs').set({ error, error_source: source }).where('id', '=', configId).execute();
  const { organization_id: organizationId } = await tx
    .selectFrom('projects')
    .select('organization_id')
    .where('id', '=', before.projectId)
    .executeTakeFirstOrThrow();
  const entry = entryOf({ now }, after, error === '' ? 'recovered' : 'failed', changesBetween(before, after));
  await writeActivities(tx, { organizationId, userId: null, keyId: null, requestId: null }, [entry]);
}
