import { createHash } from 'node:crypto';
import type { PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';
import { secretMask } from '../fields.ts';
import { maskSettings } from '../mask-secrets.ts';
import type { JsonObject } from '../../base/json.ts';
import { healthOf } from './config-health.ts';
import type { StoredAttachment, StoredConfig } from './stored-config.ts';

/** Builds the documented record: 14 fields in the documented order; the four computed ones are always text. */
export function toRecord(config: StoredConfig): PluginConfigRecord {
  return {
    id: config.id,
    plugin: config.plugin.id,
    enabled: config.enabled,
    order: config.position,
    config: JSON.stringify(shownSettings(config)),
    error: healthOf(config),
    team_id: config.projectId,
    plugin_info: config.plugin.infoText,
    delivery_rate_24h: deliveryRate(config.delivered, config.failed),
    created_at: config.createdAt,
    updated_at: config.updatedAt,
    name: shownName(config),
    description: shownDescription(config),
    deleted: config.deleted,
  };
}

export function shownName(config: StoredConfig): string {
  return config.name === '' ? config.plugin.name : config.name;
}

export function shownDescription(config: StoredConfig): string {
  return config.description === '' ? config.plugin.description : config.description;
}

/** Returns the settings with secrets masked and files as descriptions. */
export function shownSettings(config: StoredConfig): JsonObject {
  const shown = maskSettings(config.plugin.fields, config.settings);
  for (const attachment of config.attachments) {
    const field = config.plugin.fields.find(({ key }) => key === attachment.key);
    if (field !== undefined) shown[field.key] = shownAttachment(config.id, attachment, field.secret === true);
  }
  return shown;
}

export function shownAttachment(configId: number, attachment: StoredAttachment, secret: boolean): JsonObject {
  if (secret) return { uid: -1, saved: true, size: -1, name: secretMask, type: 'application/octet-stream' };
  const { key, size, fileName: name, contentType: type } = attachment;
  const uid = createHash('sha256').update(`${configId}/${key}`).digest().readUInt32BE() >>> 1;
  return { uid, saved: true, size, name, type };
}

/** Up to four digits, rounded down so that `1` means all; empty when nothing was processed. */
function deliveryRate(delivered: number, failed: number): string {
  const total = delivered + failed;
  return total === 0 ? '' : String(Math.floor((delivered * 10_000) / total) / 10_000);
}
