import type { Queries } from '../../stores/metadata/queries.ts';
import { writeActivities } from '../../stores/metadata/activity.ts';
import { changesBetween } from './config-changes.ts';
import { entryOf } from './save-changes.ts';
import { findAnyConfig } from './stored-config.ts';

export interface ConfigError {
  /** One sentence, without secrets (plugins/mask-secrets.ts); `""`: all is well. */
  readonly error: string;
  /** Who says so, and alone may take it back: the chain of transformations, or what else the plugin does, by its name. */
  readonly source: string;
}

/** Source of errors of the transformations themselves: setting up, and events that pass. */
export const chainSource = 'chain';

/**
 * Records what a run of the config ended in. Only a change of state is written and
 * logged (as done by the service itself), so calling it per run is cheap. Workers are not told: nothing for them changed.
 * `tx` is a transaction. A config that is gone is left alone. `now` in ms.
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
