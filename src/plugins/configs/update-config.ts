import type { PluginConfigCreate, PluginConfigUpdate } from '../../wire/contract/plugin-configs.ts';
import { checkSettings } from '../check-settings.ts';
import type { SettingValues } from '../fields.ts';
import { withoutSecretsOf } from './clear-secrets.ts';
import { choosePlugin } from './choose-plugin.ts';
import { shownDescription, shownName } from './config-record.ts';
import { saveChange, type Work } from './save-changes.ts';
import type { StoredConfig } from './stored-config.ts';
import type { StoredPlugin } from './stored-plugin.ts';

/** Returns the config with the given fields; writes nothing. Throws ApiError for a plugin that cannot be used here. */
export async function applyFields(work: Work, config: StoredConfig, fields: PluginConfigUpdate): Promise<StoredConfig> {
  const moved =
    fields.plugin === undefined || fields.plugin === config.plugin.id
      ? config
      : withPlugin(work, config, await choosePlugin(work, config.family, fields.plugin));
  const deleted = fields.deleted ?? moved.deleted;
  return {
    ...moved,
    enabled: (fields.enabled ?? moved.enabled) && !deleted,
    position: fields.order ?? moved.position,
    name: ownText(fields.name, moved.name, shownName(config)),
    description: ownText(fields.description, moved.description, shownDescription(config)),
    deleted,
  };
}

export async function updateConfig(
  work: Work,
  config: StoredConfig,
  fields: PluginConfigUpdate,
): Promise<StoredConfig> {
  return saveChange(work, { before: config, after: await applyFields(work, config, fields) });
}

/** Completes a PUT: omitted fields return to their defaults, only the position stays. */
export function allFields(fields: PluginConfigCreate): PluginConfigUpdate {
  return { enabled: false, name: '', description: '', deleted: false, ...fields };
}

/** A config without its own name shows the plugin's; sending that text back does not store it. */
function ownText(given: string | undefined, own: string, shown: string): string {
  if (given === undefined || (own === '' && given === shown)) return own;
  return given;
}

/** Moves a config to another plugin with the settings that both accept, except secrets, which were given for other code. */
function withPlugin(work: Work, config: StoredConfig, plugin: StoredPlugin): StoredConfig {
  const before = new Map(config.plugin.fields.map((field) => [field.key, field]));
  const fields = new Map(plugin.fields.map((field) => [field.key, field]));
  const mayKeep = (key: string): boolean => {
    const [old, field] = [before.get(key), fields.get(key)];
    // A setting unknown to the present version may have been a secret of an earlier one.
    return old !== undefined && field !== undefined && old.secret !== true;
  };
  const fits = (key: string, value: SettingValues[string]): boolean =>
    checkSettings(plugin.fields, { [key]: value }).length === 0;
  const kept = Object.entries(config.settings).filter(([key, value]) => mayKeep(key) && fits(key, value));
  const settings = Object.fromEntries(kept);
  const attachments = config.attachments.filter(({ key }) => mayKeep(key) && fields.get(key)?.type === 'attachment');
  const moved = { ...config, plugin, settings, attachments };
  return withoutSecretsOf(work, config, moved);
}
