import type { Clock } from '../../base/clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { attachedKeys, type StoredConfig } from '../../plugins/configs/stored-config.ts';
import { loadFiles } from '../../plugins/configs/load-files.ts';
import { healthOf } from '../../plugins/configs/config-health.ts';
import { missingRequired, withDefaults } from '../../plugins/check-settings.ts';
import type { InstanceServices, Sandbox, SandboxInstance, SandboxProgram } from '../../plugins/sandbox/sandbox.ts';
import type { Log } from '../../server/telemetry/log.ts';
import { HopelessError } from './outcome.ts';

/** What it takes to run installed plugins. */
export interface InstalledPlugins {
  readonly sandbox: Sandbox;
  /** What a config's plugin may ask of the service; its log is used for what the service says about the plugin, too. */
  readonly services: (config: StoredConfig) => InstanceServices;
  /** Program of a row of plugin_versions; undefined: it is gone. */
  readonly loadProgram: (versionId: number) => Promise<SandboxProgram | undefined>;
}

export interface OpenAppDeps extends InstalledPlugins {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly log: Log;
}

/** Empty: nothing required is missing. */
export function missingOf(config: StoredConfig): string {
  const { plugin, settings } = config;
  return missingRequired(plugin.fields, settings, attachedKeys(config)).length === 0 ? '' : healthOf(config);
}

/**
 * Loads the config's plugin into an instance of its own and sets it up.
 * @throws SandboxError, or HopelessError for what a change of the config must cure
 */
export async function openApp(deps: OpenAppDeps, config: StoredConfig): Promise<SandboxInstance> {
  const missing = missingOf(config);
  if (missing !== '') throw new HopelessError(missing);
  const { versionId } = config.plugin;
  const program = versionId === null ? undefined : await deps.loadProgram(versionId);
  if (program === undefined) {
    throw new HopelessError(`the version of "${config.plugin.name}" that it runs is gone; upgrade the config`);
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
