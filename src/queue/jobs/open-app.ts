import type { Clock } from '../../base/clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { attachedKeys, type StoredConfig } from '../../plugins/configs/stored-config.ts';
import { loadFiles } from '../../plugins/configs/load-files.ts';
import { healthOf } from '../../plugins/configs/config-health.ts';
import { missingRequired, withDefaults } from '../../plugins/check-settings.ts';
import type { InstanceServices, Sandbox, SandboxInstance, SandboxProgram } from '../../plugins/sandbox/sandbox.ts';
import type { Log } from '../../server/telemetry/log.ts';
import { HopelessError } from './outcome.ts';

/** Everything needed to run installed plugins. */
export interface InstalledPlugins {
  readonly sandbox: Sandbox;
  /** Services available to a config's plugin. Their log also receives the service's own messages about the plugin. */
  readonly services: (config: StoredConfig) => InstanceServices;
  /** Loads the program of a row of plugin_versions. `undefined` means that the row was deleted. */
  readonly loadProgram: (versionId: number) => Promise<SandboxProgram | undefined>;
}

export interface OpenAppDeps extends InstalledPlugins {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly log: Log;
}

/** Names missing required settings; empty when nothing is missing. */
export function missingOf(config: StoredConfig): string {
  const { plugin, settings } = config;
  return missingRequired(plugin.fields, settings, attachedKeys(config)).length === 0 ? '' : healthOf(config);
}

/**
 * Loads the config's plugin into a new instance and sets it up.
 * @throws SandboxError, or HopelessError for a fault that only a change of the config can fix
 */
export async function openApp(deps: OpenAppDeps, config: StoredConfig): Promise<SandboxInstance> {
  const missing = missingOf(config);
  if (missing !== '') throw new HopelessError(missing);
  const { versionId } = config.plugin;
  const program = versionId === null ? undefined : await deps.loadProgram(versionId);
  if (program === undefined) {
    throw new HopelessError(`the configured version of "${config.plugin.name}" was deleted; upgrade the config`);
  }
  return deps.sandbox.open({
    pluginName: program.pluginName,
    code: program.code,
    configId: config.id,
    projectId: config.projectId,
    label: `${config.plugin.name} (${config.id})`,
    settings: withDefaults(config.plugin.fields, config.settings),
    attachments: config.attachments.length === 0 ? new Map() : await loadFiles(deps.db, config.id),
    services: deps.services(config),
  });
}
