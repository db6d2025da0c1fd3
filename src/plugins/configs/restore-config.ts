import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { PluginConfigRecord, RestorableField } from '../../wire/contract/plugin-configs.ts';
import { secretMask, type SettingValues } from '../fields.ts';
import { applyVersion } from './change-version.ts';
import type { Work } from './save-changes.ts';
import type { StoredConfig } from './stored-config.ts';
import { applyFields } from './update-config.ts';
import { applySettings } from './write-settings.ts';

/**
 * The config as a record of it shows that it stood; writes nothing. The position stays. A secret that was set then keeps its
 * present value, and so does a file: neither is in the record. Throws ApiError where the plugin, its version or a setting is
 * not to be had any more.
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
  // What is built in has the version of the program.
  if (config.plugin.versionId === null || version === undefined || version === config.plugin.version) return config;
  return applyVersion(work, config, version);
}

function withSettingsOf(work: Work, config: StoredConfig, then: PluginConfigRecord): StoredConfig {
  const shown = JSON.parse(then.config) as JsonObject;
  const values: Record<string, JsonValue> = {};
  for (const { key } of config.plugin.fields) {
    const value = shown[key];
    // A file shows as an object that stands for the one that is there.
    if (value !== secretMask) values[key] = value ?? '';
  }
  return applySettings(work, config, { values: values satisfies SettingValues, files: new Map() }, 'merge');
}
