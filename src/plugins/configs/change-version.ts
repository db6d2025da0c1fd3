import { ApiError } from '../../wire/contract/errors.ts';
import { familyNames } from '../../wire/contract/plugin-configs.ts';
import type { ActivityChange } from '../../wire/contract/activity.ts';
import { checkSettings } from '../check-settings.ts';
import { isField, type SchemaEntry, type SettingValues } from '../fields.ts';
import { isSameSource } from './same-source.ts';
import { saveChange, type Work } from './save-changes.ts';
import { withoutSecretsOf } from './clear-secrets.ts';
import { type StoredConfig } from './stored-config.ts';
import { findPluginVersion, type StoredPlugin } from './stored-plugin.ts';

/** Log entries searched for the last change of version. */
const entriesMax = 20;

/**
 * Makes a config run a version of its installed plugin: the given one, otherwise the latest. Writes nothing if it already
 * runs that version. Throws ApiError.
 */
export async function upgradeConfig(work: Work, config: StoredConfig, version?: string): Promise<StoredConfig> {
  return changeVersion(work, config, version, 'upgraded');
}

/** Makes a config run the version before its last change of version. Throws ApiError if there was no change. */
export async function rollBackConfig(work: Work, config: StoredConfig): Promise<StoredConfig> {
  refuseBuiltIn(config);
  const version = await previousVersion(work, config);
  if (version !== undefined) return changeVersion(work, config, version, 'rolled_back');
  const detail = `Config ${config.id} has never run another version of "${config.plugin.name}" than ${config.plugin.version}.`;
  throw new ApiError('conflict', detail);
}

async function changeVersion(
  work: Work,
  config: StoredConfig,
  version: string | undefined,
  activity: string,
): Promise<StoredConfig> {
  const after = await applyVersion(work, config, version);
  return after === config ? config : saveChange(work, { before: config, after, activity });
}

/** Returns the config with the given or latest version, unchanged if it runs it already. Writes nothing. Throws ApiError. */
export async function applyVersion(work: Work, config: StoredConfig, version?: string): Promise<StoredConfig> {
  refuseBuiltIn(config);
  const { id, name } = config.plugin;
  const plugin = await findPluginVersion(work.tx, { id, organizationId: work.actor.organizationId, version });
  if (plugin === undefined) {
    const detail = `"${name}" has no version "${version ?? ''}" here. GET …/plugins/${id}/versions/ lists them.`;
    throw new ApiError('does_not_exist', detail, { attr: 'version' });
  }
  if (plugin.versionId === config.plugin.versionId) return config;
  if (!plugin.families.includes(config.family)) {
    const detail = `Version ${plugin.version} of "${name}" is not ${familyNames[config.family]}; this config stays at ${config.plugin.version}.`;
    throw new ApiError('invalid_input', detail, { attr: 'version' });
  }
  const moved = { ...config, plugin, ...(await keptSettings(work, config, plugin)) };
  if (await isSameSource(work.tx, config.plugin.versionId, plugin.versionId))
    return { ...moved, error: work.trial(moved) };
  return withoutSecretsOf(work, config, moved);
}

function refuseBuiltIn({ plugin }: StoredConfig): void {
  if (plugin.versionId !== null) return;
  throw new ApiError('invalid_input', `"${plugin.name}" is built in: its version is the program's.`);
}

/**
 * Keeps settings unknown to the new version: they are hidden, and a roll-back needs them. Values that it knows but would
 * refuse are removed, and so is a secret of any version that it would show.
 */
async function keptSettings(
  work: Work,
  config: StoredConfig,
  plugin: StoredPlugin,
): Promise<Pick<StoredConfig, 'settings' | 'attachments'>> {
  const secrets = await secretsOf(work, plugin.id);
  const fields = new Map(plugin.fields.map((field) => [field.key, field]));
  const shows = (key: string): boolean => {
    const field = fields.get(key);
    return field !== undefined && field.secret !== true && secrets.has(key);
  };
  const fits = (key: string, value: SettingValues[string]): boolean =>
    !fields.has(key) || checkSettings(plugin.fields, { [key]: value }).length === 0;
  const kept = Object.entries(config.settings).filter(([key, value]) => !shows(key) && fits(key, value));
  return {
    settings: Object.fromEntries(kept),
    attachments: config.attachments.filter(({ key }) => !shows(key)),
  };
}

/** Returns the keys that are a secret in any version. */
async function secretsOf({ tx }: Work, pluginId: number): Promise<ReadonlySet<string>> {
  const rows = await tx
    .selectFrom('plugin_versions')
    .select('config_schema')
    .where('plugin_id', '=', pluginId)
    .execute();
  const fields = rows.flatMap((row) => (JSON.parse(row.config_schema) as SchemaEntry[]).filter(isField));
  return new Set(fields.filter(({ secret }) => secret === true).map(({ key }) => key));
}

/** Reads the activity log. Returns `undefined` if the last change of version was a change of plugin. */
async function previousVersion({ tx, projectId }: Work, config: StoredConfig): Promise<string | undefined> {
  const rows = await tx
    .selectFrom('activity_log')
    .select('changes')
    .where('project_id', '=', projectId)
    .where('scope', '=', 'PluginConfig')
    .where('item_id', '=', String(config.id))
    .where('changes', 'like', '%"field":"plugin_version"%')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(entriesMax)
    .execute();
  const changes = rows.map((row) => JSON.parse(row.changes) as ActivityChange[]);
  const last = changes.find((each) => each.some(({ field }) => field === 'plugin_version')) ?? [];
  const before = last.find(({ field }) => field === 'plugin_version')?.before;
  const samePlugin = last.every(({ field }) => field !== 'plugin');
  return samePlugin && typeof before === 'string' ? before : undefined;
}
