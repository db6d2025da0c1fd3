import { fieldErrors, type FieldError } from '../../wire/contract/errors.ts';
import { checkSettings, isGiven, missingRequired, ownValue, settingText } from '../check-settings.ts';
import { checkEventFilter } from '../event-filter.ts';
import { unboundSecrets } from '../bound-secrets.ts';
import type { PluginField, SettingValues } from '../fields.ts';
import type { JsonValue } from '../../base/json.ts';
import { saveChange, type Work } from './save-changes.ts';
import { attachedKeys, type StoredAttachment, type StoredConfig } from './stored-config.ts';

export interface SettingsInput {
  /** By key; null and `""` as described at `writeSettings`. */
  readonly values: SettingValues;
  readonly files: ReadonlyMap<string, { fileName: string; contentType: string; content: Uint8Array }>;
}

const fileNameLengthMax = 200;
/** More errors in one response would not help. */
const errorsMax = 20;

/**
 * Stores settings. An omitted or null secret keeps its value, `""` clears it.
 * - merge: other omitted keys keep their values too; null and `""` clear
 * - replace: other omitted keys are removed; every required one must be given
 * A file is kept by sending back its description, or (merge, or a secret file) by omitting it.
 */
export async function writeSettings(
  work: Work,
  config: StoredConfig,
  input: SettingsInput,
  mode: 'merge' | 'replace',
): Promise<StoredConfig> {
  return saveChange(work, { before: config, after: applySettings(work, config, input, mode) });
}

/** Returns the config with the settings that `writeSettings` would store; writes nothing. Throws ApiError. */
export function applySettings(
  work: Pick<Work, 'trial'>,
  config: StoredConfig,
  input: SettingsInput,
  mode: 'merge' | 'replace',
): StoredConfig {
  const { fields } = config.plugin;
  const { values, keptFiles } = splitFileReferences(fields, input.values);
  const errors = [...checkSettings(fields, values), ...checkFiles(fields, input.files)];
  if (errors.length === 0) errors.push(...checkEventFilter(values));
  const settings = nextSettings({ fields, settings: config.settings }, values, mode);
  const attachments = nextAttachments(config, { values, files: input.files }, keptFiles, mode);
  errors.push(...boundErrors(fields, { settings: config.settings, attached: attachedKeys(config) }, settings, input));
  if (mode === 'replace') errors.push(...requiredErrors(fields, settings, attachments, errors));
  refuse(errors);
  const changed = { ...config, settings, attachments };
  const same = JSON.stringify(settings) === JSON.stringify(config.settings) && input.files.size === 0;
  // New settings are a new start: the errors of the old ones no longer apply.
  return same ? changed : { ...changed, error: work.trial(changed) };
}

/** Reports stored secrets that would be sent to another address than the one they were given for. */
export function boundErrors(
  fields: readonly PluginField[],
  stored: { readonly settings: SettingValues; readonly attached: ReadonlySet<string> },
  settings: SettingValues,
  { values, files }: Pick<SettingsInput, 'values'> & Partial<SettingsInput>,
): FieldError[] {
  const given = (key: string): boolean =>
    files?.has(key) === true || (ownValue(values, key) ?? undefined) !== undefined;
  const set = [...Object.keys(stored.settings), ...stored.attached];
  const kept = new Set(set.filter((key) => !given(key) || isReference(ownValue(values, key))));
  return unboundSecrets(fields, stored.settings, settings, kept).map(({ key, destination }) => ({
    code: 'required',
    detail: `"${destination}" has a new address: expected this secret again, because it was given for the earlier one ("" clears it).`,
    attr: `settings.${key}`,
  }));
}

/** Throws an ApiError with the first of the errors, if any. */
export function refuse(errors: readonly FieldError[]): void {
  const [first, ...others] = errors.slice(0, errorsMax);
  if (first !== undefined) throw fieldErrors([first, ...others]);
}

/** Returns the settings that `writeSettings` would store. */
export function nextSettings(
  stored: { readonly fields: readonly PluginField[]; readonly settings: SettingValues },
  values: SettingValues,
  mode: 'merge' | 'replace',
): SettingValues {
  const settings: Record<string, JsonValue> = {};
  for (const { key, secret, type } of stored.fields) {
    if (type === 'attachment') continue;
    const old = ownValue(stored.settings, key);
    const given = ownValue(values, key);
    const omitted = given === undefined || given === null;
    const keeps = omitted && (secret === true || (mode === 'merge' && given === undefined));
    const next = keeps ? old : given;
    if (isGiven(next) && next !== undefined) settings[key] = type === 'json' ? next : settingText(next);
  }
  return settings;
}

function nextAttachments(
  config: StoredConfig,
  { values, files }: SettingsInput,
  keptFiles: ReadonlySet<string>,
  mode: 'merge' | 'replace',
): StoredAttachment[] {
  return config.plugin.fields.flatMap(({ key, secret, type }) => {
    if (type !== 'attachment') return [];
    const file = files.get(key);
    if (file !== undefined) return [{ key, ...file, size: file.content.byteLength }];
    const old = config.attachments.find((attachment) => attachment.key === key);
    if (old === undefined) return [];
    const given = ownValue(values, key);
    const keeps = keptFiles.has(key) || (given === undefined && (mode === 'merge' || secret === true));
    return keeps || (secret === true && given === null) ? [old] : [];
  });
}

/** A file is shown as `{uid, saved, …}`; the same object in a request keeps the file. */
export function splitFileReferences(
  fields: readonly PluginField[],
  given: SettingValues,
): { values: SettingValues; keptFiles: ReadonlySet<string> } {
  const fileKeys = new Set(fields.filter(({ type }) => type === 'attachment').map(({ key }) => key));
  const isKept = (key: string, value: JsonValue): boolean => fileKeys.has(key) && isReference(value);
  const entries = Object.entries(given);
  return {
    values: Object.fromEntries(entries.filter(([key, value]) => !isKept(key, value))),
    keptFiles: new Set(entries.filter(([key, value]) => isKept(key, value)).map(([key]) => key)),
  };
}

function isReference(value: JsonValue | undefined): boolean {
  return typeof value === 'object' && value !== null && 'saved' in value && value['saved'] === true;
}

export function checkFiles(fields: readonly PluginField[], files: SettingsInput['files']): FieldError[] {
  return [...files].flatMap(([key, { fileName }]): FieldError[] => {
    const attr = `settings.${key}`;
    const field = fields.find((each) => each.key === key);
    if (field?.type !== 'attachment') {
      return [{ code: 'invalid_input', detail: 'This setting does not accept a file.', attr }];
    }
    if (fileName.length <= fileNameLengthMax) return [];
    const detail = `Ensure the file name has no more than ${fileNameLengthMax} characters.`;
    return [{ code: 'max_length', detail, attr }];
  });
}

function requiredErrors(
  fields: readonly PluginField[],
  settings: SettingValues,
  attachments: readonly StoredAttachment[],
  errors: readonly FieldError[],
): FieldError[] {
  const reported = new Set(errors.map(({ attr }) => attr));
  return missingRequired(fields, settings, attachedKeys({ attachments }))
    .map((key) => `settings.${key}`)
    .filter((attr) => !reported.has(attr))
    .map((attr) => ({ code: 'required', detail: 'This field is required.', attr }));
}
