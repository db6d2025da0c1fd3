import type { FieldError } from '../wire/contract/errors.ts';
import { secretMask, type FieldCondition, type PluginField, type SettingValues } from './fields.ts';
import type { JsonValue } from '../base/json.ts';

const textLengthMax = 100_000;
const jsonLengthMax = 1_000_000;

/** Whether a setting has a value: false, 0 and empty lists are values, `""` and null are not. */
export function isGiven(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null && value !== '';
}

/**
 * Checks names, types and choices of the given values; `missingRequired` finds missing ones. Empty values pass because they
 * clear. Errors name `settings.KEY` and never repeat a secret. Attachments are not JSON values: only null or `""`.
 */
export function checkSettings(fields: readonly PluginField[], values: SettingValues): FieldError[] {
  const byKey = new Map(fields.map((field) => [field.key, field]));
  return Object.entries(values).flatMap(([key, value]) => {
    const field = byKey.get(key);
    const detail = field === undefined ? unknownSetting(fields) : problemOf(field, value);
    return detail === undefined ? [] : [{ code: 'invalid_input', detail, attr: `settings.${key}` } as const];
  });
}

/**
 * Returns the keys of required fields (always required, or by their conditions) without value or default, in the plugin's
 * order. Attachments in `attached` count as given.
 */
export function missingRequired(
  fields: readonly PluginField[],
  values: SettingValues,
  attached: ReadonlySet<string> = new Set(),
): string[] {
  return fields
    .filter((field) => !isGiven(field.default) && isRequired(fields, field, values, attached))
    .filter((field) => (field.type === 'attachment' ? !attached.has(field.key) : !isGiven(ownValue(values, field.key))))
    .map((field) => field.key);
}

function isRequired(
  fields: readonly PluginField[],
  { required, required_if, visible_if }: PluginField,
  values: SettingValues,
  attached: ReadonlySet<string>,
): boolean {
  if (required_if === undefined && visible_if === undefined) return required === true;
  const settings = withDefaults(fields, values);
  const holds = (conditions: readonly FieldCondition[]): boolean =>
    conditions.every(([key, ...wanted]) => {
      const value = ownValue(settings, key);
      if (wanted.length === 0) return isGiven(value) || attached.has(key);
      return settingText(value ?? '') === settingText(wanted[0] ?? '');
    });
  if (visible_if !== undefined && !holds(visible_if)) return false;
  return required === true || (required_if !== undefined && required_if.length > 0 && holds(required_if));
}

/** Returns what a plugin receives: the given values, otherwise the defaults. */
export function withDefaults(fields: readonly PluginField[], values: SettingValues): SettingValues {
  const settings: Record<string, JsonValue> = {};
  for (const { key, default: standard } of fields) {
    const value = ownValue(values, key);
    if (value !== undefined && isGiven(value)) settings[key] = value;
    else if (standard !== undefined) settings[key] = standard;
  }
  return settings;
}

export function ownValue(values: SettingValues, key: string): JsonValue | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}

/** Numbers and flags are stored as text; other values stay unchanged. */
export function settingText(value: JsonValue): JsonValue {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
}

function unknownSetting(fields: readonly PluginField[]): string {
  const known = fields.map((field) => field.key).join(', ');
  return known === '' ? 'This plugin has no settings.' : `Unknown setting. The plugin's settings are: ${known}.`;
}

function problemOf(field: PluginField, value: JsonValue): string | undefined {
  if (!isGiven(value)) return undefined;
  if (value === secretMask) return 'This is the mask, not the secret. Leave the key out to keep the stored value.';
  if (field.type === 'json') return problemOfJson(value);
  if (field.type === 'attachment') return 'Send a file for this key in a multipart/form-data body.';
  if (field.type === 'number') return problemOfNumber(field, value);
  if (field.type === 'boolean') {
    return ['true', 'false'].includes(String(value)) ? undefined : 'Expected true or false.';
  }
  if (typeof value !== 'string') return 'Not a valid string.';
  if (value.length > textLengthMax) return `Ensure this setting has no more than ${textLengthMax} characters.`;
  if (field.type === 'choice' && field.choices?.includes(value) === false) {
    return `Expected one of: ${field.choices.join(', ')}.`;
  }
  return undefined;
}

/** A JSON number, or text in the form of one. */
const numberForm = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

function problemOfNumber({ minimum = -Infinity, maximum = Infinity, integer }: PluginField, value: JsonValue) {
  const text = typeof value === 'number' ? String(value) : value;
  const number = typeof text === 'string' && numberForm.test(text.trim()) ? Number(text) : NaN;
  if (!Number.isFinite(number)) return 'Expected a number.';
  if (integer === true && !Number.isInteger(number)) return 'Expected a whole number.';
  if (number < minimum) return `Ensure this value is greater than or equal to ${minimum}.`;
  return number > maximum ? `Ensure this value is less than or equal to ${maximum}.` : undefined;
}

function problemOfJson(value: JsonValue): string | undefined {
  if (JSON.stringify(value).length > jsonLengthMax)
    return `Ensure this JSON has no more than ${jsonLengthMax} characters.`;
  if (typeof value !== 'string') return undefined;
  try {
    JSON.parse(value);
    return undefined;
  } catch {
    return 'Expected JSON: a value, or text that contains one.';
  }
}
