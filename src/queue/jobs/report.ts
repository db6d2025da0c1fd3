import type { Queries } from '../../stores/metadata/queries.ts';
import { setConfigError } from '../../plugins/configs/set-config-error.ts';
import type { StoredConfig } from '../../plugins/configs/stored-config.ts';
import { addConfigCounts } from '../../plugins/services/config-metrics.ts';
import { hourOf } from '../../plugins/services/own-metrics.ts';
import type { PluginFailure } from '../../plugins/services/errors.ts';
import { withoutSecrets } from '../../plugins/mask-secrets.ts';
import { SandboxError } from '../../plugins/sandbox/sandbox.ts';
import type { Failure } from './outcome.ts';

const errorLengthMax = 1000;

/**
 * Records on the config that `what` failed and why. A failure that differs from the recorded one only in numbers and ids is
 * not written: a plugin that fails every second must not flood the activity log.
 */
export async function reportFailure(
  tx: Queries,
  configId: number,
  failed: { readonly what: string; readonly text: string; readonly now: number },
): Promise<void> {
  const error = `${failed.what} failed: ${failed.text}`.slice(0, errorLengthMax);
  const known = await errorOf(tx, configId);
  if (known === undefined || withoutNumbers(known.error) === withoutNumbers(error)) return;
  await setConfigError(tx, configId, { error, source: failed.what }, failed.now);
}

/** Clears the error that `reportFailure` recorded for the same `what`; other errors stay. */
export async function reportSuccess(tx: Queries, configId: number, what: string, now: number): Promise<void> {
  const known = await errorOf(tx, configId);
  if (known?.error_source === what) await setConfigError(tx, configId, { error: '', source: what }, now);
}

async function errorOf(tx: Queries, configId: number) {
  const query = tx.selectFrom('plugin_configs').select(['error', 'error_source']).where('id', '=', configId);
  return query.executeTakeFirst();
}

function withoutNumbers(text: string): string {
  return text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|0x[0-9a-f]+|\d+/gi, '#');
}

/** Returns the error's text without the config's secrets. */
export function shownError(error: Error, config: Pick<StoredConfig, 'plugin' | 'settings'> | undefined): string {
  return config === undefined ? error.message : withoutSecrets(error.message, config.plugin.fields, config.settings);
}

/** Converts a failure to an entry of the error list. */
export function toPluginFailure(
  config: StoredConfig,
  { error, event }: Failure,
  about: { readonly method: string; readonly now: number },
): PluginFailure {
  const shown = (text: string): string => withoutSecrets(text, config.plugin.fields, config.settings);
  const ofSandbox = error instanceof SandboxError ? error : undefined;
  return {
    configId: config.id,
    projectId: config.projectId,
    method: about.method,
    name: ofSandbox?.errorName ?? error.name,
    message: shown(error.message),
    stack: shown(ofSandbox?.pluginStack ?? ''),
    ...(event === undefined ? {} : { event }),
    time: about.now,
  };
}

/** Adds to the config's metrics of this hour. `ms` is the time spent. */
export async function countRun(
  tx: Queries,
  config: StoredConfig,
  { succeeded, failed, ms }: Readonly<Record<'succeeded' | 'failed' | 'ms', number>>,
  now: number,
): Promise<void> {
  const counts = { succeeded, failed, dropped: 0, skipped: 0, micros: ms * 1000 };
  await addConfigCounts(tx, [{ configId: config.id, projectId: config.projectId, hour: hourOf(now), ...counts }]);
}
