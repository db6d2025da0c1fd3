import { isGiven, ownValue } from './check-settings.ts';
import type { SettingValues } from './fields.ts';
import type { Attachment } from './host.ts';
import { SettingsError, wrongSetting } from './plugin.ts';
import type { JsonValue } from '../base/json.ts';

/** Settings are text; these functions parse them. All throw SettingsError with the setting's key. */

export function textSetting(settings: SettingValues, key: string, standard = ''): string {
  const value = ownValue(settings, key);
  if (value === undefined || !isGiven(value)) return standard;
  if (typeof value !== 'string') throw wrongSetting(key, 'expected text');
  return value;
}

/** Returns a required text, trimmed. */
export function neededSetting(settings: SettingValues, key: string): string {
  const value = textSetting(settings, key).trim();
  if (value === '') throw wrongSetting(key, 'expected text, got none');
  return value;
}

/** Returns the items between commas or line breaks, trimmed, each once. */
export function listSetting(settings: SettingValues, key: string): string[] {
  const items = textSetting(settings, key).split(/[,\n]/);
  return [...new Set(items.map((item) => item.trim()).filter((item) => item !== ''))];
}

export function yesSetting(settings: SettingValues, key: string, standard: 'Yes' | 'No' = 'No'): boolean {
  return textSetting(settings, key, standard) === 'Yes';
}

/** Returns a JSON value, or the value of JSON text; `undefined` if not set. */
export function jsonSetting(settings: SettingValues, key: string): JsonValue | undefined {
  const value = ownValue(settings, key);
  if (!isGiven(value)) return undefined;
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as JsonValue;
  } catch (cause) {
    throw wrongSetting(key, 'expected JSON', { cause });
  }
}

/** Parses an attached file as JSON. `key` names the setting in the error. */
export function jsonFile({ content }: Attachment, key: string): JsonValue {
  try {
    return JSON.parse(Buffer.from(content).toString('utf8')) as JsonValue;
  } catch (cause) {
    throw new SettingsError(`the file "${key}": expected JSON`, { cause });
  }
}

/** Returns a whole number in a range. The error does not repeat the value: it may have been meant as a secret. */
export function integerSetting(
  settings: SettingValues,
  key: string,
  { standard, min, max }: { readonly standard: number; readonly min: number; readonly max: number },
): number {
  const text = textSetting(settings, key, String(standard)).trim();
  const number = Number(text);
  if (text !== '' && Number.isInteger(number) && number >= min && number <= max) return number;
  throw wrongSetting(key, `expected a whole number from ${min} to ${max}`);
}
