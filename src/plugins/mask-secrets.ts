import { isGiven, ownValue } from './check-settings.ts';
import { secretMask, type PluginField, type SettingValues } from './fields.ts';
import { exactNumber, parseExact } from '../base/exact-json.ts';
import { isObject, type JsonValue } from '../base/json.ts';

/** A shorter secret is part of too many words to be meant by them; hiding it there would give it away. */
const hiddenCharsMin = 6;

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

/** The secrets that are set and long enough to be told from other text, as a text may hold them. */
export function secretTexts(fields: readonly PluginField[], values: SettingValues): string[] {
  return fields.flatMap(({ key, secret }) => {
    const value = ownValue(values, key);
    if (secret !== true || value === undefined || !isGiven(value)) return [];
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return text.length < hiddenCharsMin ? [] : [text];
  });
}

/** The same for JSON text: what it holds in texts, whatever their place; the text itself when there is nothing to hide. */
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
