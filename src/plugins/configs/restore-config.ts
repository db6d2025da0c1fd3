import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { PluginConfigRecord, RestorableField } from '../../wire/contract/plugin-configs.ts';
import { secretMask, type SettingValues } from '../fields.ts';
import { applyVersion } from './change-version.ts';
import type { Work } from './save-changes.ts';
import type { StoredConfig } from './stored-config.ts';
import { applyFields } from './update-config.ts';
import { applySettings } from './write-settings.ts';

/**
 * Returns the config as a past record of it shows it; writes nothing. The position stays. A secret or file that was set then
 * keeps its present value, because the record contains neither. Throws ApiError if the plugin, its version or a setting is no
 * longer available.
 */
export async function restoreConfig(
  work: Work,
  config: StoredConfig,
  then: PluginConfigRecord,
  fields: ReadonlySet<RestorableField>,
): Promise<StoredConfig> {
  const { enabled, name, description, deleted, plugin } = then;
  const wanted = { enabled, name, description, deleted, plugin };
  const given = Object.fromEntries(Object.entries(wanted).filter(([field]) => fields.has(field as RestorableField)));
  const moved = await applyFields(work, config, given);
  const run = fields.has('plugin') ? await withVersionOf(work, moved, then) : moved;
  return fields.has('settings') ? withSettingsOf(work, run, then) : run;
}

async function withVersionOf(work: Work, config: StoredConfig, then: PluginConfigRecord): Promise<StoredConfig> {
  const { version } = JSON.parse(then.plugin_info) as { readonly version?: string };
  // A built-in plugin has the version of the program.
  if (config.plugin.versionId === null || version === undefined || version === config.plugin.version) return config;
  return applyVersion(work, config, version);
}

function withSettingsOf(work: Work, config: StoredConfig, then: PluginConfigRecord): StoredConfig {
  const shown = JSON.parse(then.config) as JsonObject;
  const values: Record<string, JsonValue> = {};
  for (const { key } of config.plugin.fields) {
    const value = shown[key];
    // A file is shown as an object that represents the stored one.
    if (value !== secretMask) values[key] = value ?? '';
  }
  return applySettings(work, config, { values: values satisfies SettingValues, files: new Map() }, 'merge');
}
