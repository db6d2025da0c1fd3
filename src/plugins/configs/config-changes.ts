import type { ActivityChange } from '../../wire/contract/activity.ts';
import { isGiven, ownValue } from '../check-settings.ts';
import { secretMask, type PluginField } from '../fields.ts';
import type { JsonValue } from '../../base/json.ts';
import { shownAttachment } from './config-record.ts';
import type { StoredConfig } from './stored-config.ts';

/** Lists the differing fields for the activity log, with secrets masked on both sides. `before` is undefined for a new config. */
export function changesBetween(before: StoredConfig | undefined, after: StoredConfig): ActivityChange[] {
  const old = before === undefined ? undefined : plainFields(before);
  const fields = Object.entries(plainFields(after)).flatMap(([field, value]) =>
    old?.[field] === value ? [] : [change(field, old?.[field], value)],
  );
  return [...fields, ...settingChanges(before, after)];
}

/** Lists the fields, settings and files that a deletion removes. */
export function changesOfDeletion(config: StoredConfig): ActivityChange[] {
  return changesBetween(undefined, config).map(({ field, after }) => change(field, after, undefined));
}

/** Names the activity after its most significant change. */
export function activityOf(before: StoredConfig | undefined, after: StoredConfig, changes: ActivityChange[]): string {
  if (before === undefined) return 'created';
  if (before.deleted !== after.deleted) return after.deleted ? 'moved_to_bin' : 'restored';
  if (before.enabled !== after.enabled) return after.enabled ? 'enabled' : 'disabled';
  if (changes.some(({ field }) => field.startsWith('settings.'))) return 'config_updated';
  if (changes.every(({ field }) => field === 'order')) return 'order_changed';
  if (changes.every(({ field }) => field === 'error')) return after.error === '' ? 'recovered' : 'failed';
  return 'updated';
}

function plainFields(config: StoredConfig): Record<string, JsonValue> {
  return {
    plugin: config.plugin.id,
    ...(config.plugin.versionId !== null && { plugin_version: config.plugin.version }),
    enabled: config.enabled,
    order: config.position,
    error: config.error,
    name: config.name,
    description: config.description,
    deleted: config.deleted,
  };
}

function settingChanges(before: StoredConfig | undefined, after: StoredConfig): ActivityChange[] {
  const fields = new Map<string, PluginField>();
  for (const field of before?.plugin.fields ?? []) fields.set(field.key, field);
  for (const field of after.plugin.fields) {
    const hidden = field.secret === true || fields.get(field.key)?.secret === true;
    fields.set(field.key, hidden ? { ...field, secret: true } : field);
  }
  return [...fields.values()].flatMap((field) =>
    field.type === 'attachment' ? attachmentChange(field, before, after) : valueChange(field, before, after),
  );
}

function valueChange(field: PluginField, before: StoredConfig | undefined, after: StoredConfig): ActivityChange[] {
  const old = before === undefined ? undefined : ownValue(before.settings, field.key);
  const now = ownValue(after.settings, field.key);
  if (JSON.stringify(old) === JSON.stringify(now)) return [];
  const shown = (value: JsonValue | undefined): JsonValue | undefined =>
    field.secret === true && isGiven(value) ? secretMask : value;
  return [change(`settings.${field.key}`, shown(old), shown(now))];
}

function attachmentChange(field: PluginField, before: StoredConfig | undefined, after: StoredConfig): ActivityChange[] {
  const old = before?.attachments.find(({ key }) => key === field.key);
  const now = after.attachments.find(({ key }) => key === field.key);
  if (old === undefined && now === undefined) return [];
  if (old !== undefined && now !== undefined && now.content === undefined) return [];
  const secret = field.secret === true;
  return [
    change(
      `settings.${field.key}`,
      old && before ? shownAttachment(before.id, old, secret) : undefined,
      now && shownAttachment(after.id, now, secret),
    ),
  ];
}

function change(field: string, before: unknown, after: unknown): ActivityChange {
  const action = before === undefined ? 'created' : after === undefined ? 'deleted' : 'changed';
  return { field, action, before: before ?? null, after: after ?? null };
}
