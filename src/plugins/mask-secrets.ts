import { isGiven, ownValue } from './check-settings.ts';
import { secretMask, type PluginField, type SettingValues } from './fields.ts';
import { exactNumber, parseExact } from '../base/exact-json.ts';
import { isObject, type JsonValue } from '../base/json.ts';

/** A shorter secret is part of too many words; masking them would reveal it. */
const hiddenCharsMin = 6;

/** Returns the settings that may be shown: only declared ones, in the plugin's order, with the mask in place of secrets. */
export function maskSettings(fields: readonly PluginField[], values: SettingValues): Record<string, JsonValue> {
  const shown: Record<string, JsonValue> = {};
  for (const field of fields) {
    const value = ownValue(values, field.key);
    if (value === undefined) continue;
    shown[field.key] = field.secret === true && isGiven(value) ? secretMask : value;
  }
  return shown;
}

/** Removes the config's secrets from a plugin's text, such as an error message. */
export function withoutSecrets(text: string, fields: readonly PluginField[], values: SettingValues): string {
  return secretTexts(fields, values).reduce((safe, secret) => safe.replaceAll(secret, secretMask), text);
}

/** Returns the secrets that are set and long enough to distinguish from other text, in the forms a text may contain. */
export function secretTexts(fields: readonly PluginField[], values: SettingValues): string[] {
  return fields.flatMap(({ key, secret }) => {
    const value = ownValue(values, key);
    if (secret !== true || value === undefined || !isGiven(value)) return [];
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return text.length < hiddenCharsMin ? [] : [text];
  });
}

/** The same for JSON text: masks all strings in it; returns the text itself when there is nothing to hide. */
export function jsonWithoutSecrets(json: string, fields: readonly PluginField[], values: SettingValues): string {
  const secrets = fields.flatMap(({ key, secret }) => {
    const value = secret === true ? ownValue(values, key) : undefined;
    return typeof value === 'string' && value.length >= hiddenCharsMin ? [value] : [];
  });
  const found = secrets.filter((secret) => json.includes(JSON.stringify(secret).slice(1, -1)));
  if (found.length === 0) return json;
  const masked = (text: string): string => found.reduce((safe, secret) => safe.replaceAll(secret, secretMask), text);
  return JSON.stringify(parseExact(json), (_key, value: JsonValue) => {
    if (typeof value === 'string') return masked(value);
    if (!isObject(value) || exactNumber(value) !== undefined) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [masked(key), member]));
  });
}
