import type { PluginFieldRecord, SchemaEntryRecord } from '../../../src/wire/contract/plugin-fields.ts';
import { ApiError } from '../api/api-error.ts';
import { isJsonObject, sameJson } from './json-value.ts';

/** One setting in a plugin's `config_schema`. */
export type SchemaField = PluginFieldRecord;
export type SchemaEntry = SchemaEntryRecord;

type FieldCondition = NonNullable<SchemaField['visible_if']>[number];

/**
 * Settings by key, from the API and with unsaved changes. A stored secret is its mask, a stored file an object that describes it,
 * a selected file a File. `""` means cleared.
 */
export type SettingValues = Readonly<Record<string, unknown>>;

/** Error messages by setting key. */
export type SettingErrors = Readonly<Record<string, string>>;

/** Returns the entries of a plugin's `config_schema` that the console can render. */
export function readSchema(schema: readonly unknown[]): SchemaEntry[] {
  return schema.filter(
    (entry): entry is SchemaEntry =>
      isJsonObject(entry) && (typeof entry['key'] === 'string' || typeof entry['markdown'] === 'string'),
  );
}

export function isField(entry: SchemaEntry): entry is SchemaField {
  return 'key' in entry;
}

/** Tells whether a setting has a value; false, 0 and empty lists are values. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/** Returns the value of a field or its default. */
function shownValue(field: SchemaField, values: SettingValues): unknown {
  const value = Object.hasOwn(values, field.key) ? values[field.key] : undefined;
  return isGiven(value) ? value : field.default;
}

/** Returns the fields whose conditions hold, and the texts between them. */
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

/** Returns errors for required fields that have neither a value nor a default. */
export function missingSettings(schema: readonly SchemaEntry[], values: SettingValues): SettingErrors {
  const missing = visibleEntries(schema, values)
    .filter(isField)
    .filter((field) => isRequired(field, schema, values) && !isGiven(shownValue(field, values)));
  return Object.fromEntries(missing.map(({ key }) => [key, 'This field is required.']));
}

/** Returns the settings that differ from the stored ones; `""` clears a setting. */
export function changedSettings(stored: SettingValues, values: SettingValues): SettingValues {
  const keys = Object.keys({ ...stored, ...values });
  const changed = keys.filter((key) => values[key] instanceof File || !sameSetting(stored[key], values[key]));
  return Object.fromEntries(changed.map((key) => [key, values[key] ?? '']));
}

function sameSetting(stored: unknown, value: unknown): boolean {
  return sameJson(stored ?? '', value ?? '');
}

/** Builds the request body: multipart if there are files, JSON otherwise. */
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

/** Returns the errors of an API response that refer to settings. */
export function settingErrors(error: unknown): SettingErrors {
  if (!(error instanceof ApiError)) return {};
  const found = [error, ...error.errors].flatMap(({ attr, detail }) => {
    const key = settingAttr.exec(attr ?? '')?.[1];
    return key === undefined ? [] : [[key, detail] as const];
  });
  return Object.fromEntries(found);
}
