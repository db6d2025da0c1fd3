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
  return secretTexts(fields, values).reduce((safe, secret) => safe.replaceAll(secret, secretMask), text);
}

/** The secrets that are set, as a text may hold them. */
export function secretTexts(fields: readonly PluginField[], values: SettingValues): string[] {
  return fields.flatMap(({ key, secret }) => {
    const value = ownValue(values, key);
    if (secret !== true || value === undefined || !isGiven(value)) return [];
    return [typeof value === 'string' ? value : JSON.stringify(value)];
  });
}
