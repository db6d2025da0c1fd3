import { isGiven, ownValue } from './check-settings.ts';
import { secretMask, type PluginField, type SettingValues } from './fields.ts';
import type { JsonValue } from '../base/json.ts';

/** Settings as they may be shown: only what the plugin declares, in its order; secrets that are set show as the mask. */
export function maskSettings(fields: readonly PluginField[], values: SettingValues): Record<string, JsonValue> {
  const shown: Record<string, JsonValue> = {};
  for (const field of fields) {
    const value = ownValue(values, field.key);
    if (value === undefined) continue;
    shown[field.key] = field.secret === true && isGiven(value) ? secretMask : value;
  }
  return shown;
}

/** A text from a plugin (an error message, say) without the secrets that it was given. */
export function withoutSecrets(text: string, fields: readonly PluginField[], values: SettingValues): string {
  let safe = text;
  for (const { key, secret } of fields) {
    const value = ownValue(values, key);
    if (secret !== true || value === undefined || !isGiven(value)) continue;
    safe = safe.replaceAll(typeof value === 'string' ? value : JSON.stringify(value), secretMask);
  }
  return safe;
}
