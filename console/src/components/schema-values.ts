import type { PluginFieldRecord, SchemaEntryRecord } from '../../../src/wire/contract/plugin-fields.ts';
import { ApiError } from '../api/api-error.ts';
import { isJsonObject, sameJson } from './json-value.ts';

/** One setting, as a plugin's `config_schema` declares it. */
export type SchemaField = PluginFieldRecord;
export type SchemaEntry = SchemaEntryRecord;

type FieldCondition = NonNullable<SchemaField['visible_if']>[number];

/**
 * Settings by key, as the API shows them and as they are typed: a secret that is set is there as its mask, a file that is set as
 * an object that describes it, a chosen file as a File. `""`: cleared.
 */
export type SettingValues = Readonly<Record<string, unknown>>;

/** What went wrong with each setting, by its key. */
export type SettingErrors = Readonly<Record<string, string>>;

/** The entries of a plugin's `config_schema` that can be shown. */
export function readSchema(schema: readonly unknown[]): SchemaEntry[] {
  return schema.filter(
    (entry): entry is SchemaEntry =>
      isJsonObject(entry) && (typeof entry['key'] === 'string' || typeof entry['markdown'] === 'string'),
  );
}

export function isField(entry: SchemaEntry): entry is SchemaField {
  return 'key' in entry;
}

/** Whether a setting counts as given: false, 0 and empty lists are values. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/** The value of a field, else its default. */
export function shownValue(field: SchemaField, values: SettingValues): unknown {
  const value = Object.hasOwn(values, field.key) ? values[field.key] : undefined;
  return isGiven(value) ? value : field.default;
}

/** The fields that are asked for as things are, and the texts between them. */
export function visibleEntries(schema: readonly SchemaEntry[], values: SettingValues): SchemaEntry[] {
  const fields = schema.filter(isField);
  return schema.filter(
    (entry) => !isField(entry) || entry.visible_if === undefined || holds(fields, entry.visible_if, values),
  );
}

export function isRequired(field: SchemaField, schema: readonly SchemaEntry[], values: SettingValues): boolean {
  if (field.required === true) return true;
  const conditions = field.required_if ?? [];
  return conditions.length > 0 && holds(schema.filter(isField), conditions, values);
}

function holds(fields: readonly SchemaField[], conditions: readonly FieldCondition[], values: SettingValues): boolean {
  return conditions.every(([key, ...wanted]) => {
    const field = fields.find((each) => each.key === key);
    const value = field === undefined ? undefined : shownValue(field, values);
    return wanted.length === 0 ? isGiven(value) : String(value ?? '') === String(wanted[0] ?? '');
  });
}

/** Errors of required fields that have neither a value nor a default. */
export function missingSettings(schema: readonly SchemaEntry[], values: SettingValues): SettingErrors {
  const missing = visibleEntries(schema, values)
    .filter(isField)
    .filter((field) => isRequired(field, schema, values) && !isGiven(shownValue(field, values)));
  return Object.fromEntries(missing.map(({ key }) => [key, 'This field is required.']));
}

/** What was typed that differs from what is stored; what is gone is `""`, which clears. */
export function changedSettings(stored: SettingValues, values: SettingValues): SettingValues {
  const keys = Object.keys({ ...stored, ...values });
  const changed = keys.filter((key) => values[key] instanceof File || !sameSetting(stored[key], values[key]));
  return Object.fromEntries(changed.map((key) => [key, values[key] ?? '']));
}

function sameSetting(stored: unknown, value: unknown): boolean {
  return sameJson(stored ?? '', value ?? '');
}

/** Settings as the body of a request: JSON, with files multipart. */
export function settingsBody(settings: SettingValues): SettingValues | FormData {
  const entries = Object.entries(settings);
  if (!entries.some(([, value]) => value instanceof File)) return settings;
  const form = new FormData();
  for (const [key, value] of entries) {
    if (value instanceof File) form.append(key, value, value.name);
    else form.append(key, typeof value === 'string' ? value : JSON.stringify(value));
  }
  return form;
}

const settingAttr = /^(?:settings|config)(?:\.|__)(.+)$/;

/** The errors of single settings in a refusal; those of anything else are not in it. */
export function settingErrors(error: unknown): SettingErrors {
  if (!(error instanceof ApiError)) return {};
  const found = [error, ...error.errors].flatMap(({ attr, detail }) => {
    const key = settingAttr.exec(attr ?? '')?.[1];
    return key === undefined ? [] : [[key, detail] as const];
  });
  return Object.fromEntries(found);
}
