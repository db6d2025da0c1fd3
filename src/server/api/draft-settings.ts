import { fieldErrors } from '../../wire/contract/errors.ts';
import { checkSettings } from '../../plugins/check-settings.ts';
import { boundErrors, nextSettings, splitFileReferences } from '../../plugins/configs/write-settings.ts';
import type { PluginField, SettingValues } from '../../plugins/fields.ts';

/** Settings of a config that may not be stored yet. */
export interface SettingsBase {
  readonly settings: SettingValues;
  /** Keys of its attachments. */
  readonly attached: ReadonlySet<string>;
}

/** Applies changes as saving would, so that a working draft can be saved. @throws ApiError naming the refused settings */
export function draftSettings(base: SettingsBase, fields: readonly PluginField[], given: SettingValues): SettingsBase {
  const { values } = splitFileReferences(fields, given);
  const settings = nextSettings({ fields, settings: base.settings }, values, 'merge');
  const errors = [...checkSettings(fields, values), ...boundErrors(fields, base, settings, { values })];
  const [first, ...others] = errors;
  if (first !== undefined) throw fieldErrors([first, ...others]);
  const cleared = new Set(Object.keys(values));
  return { settings, attached: new Set([...base.attached].filter((key) => !cleared.has(key))) };
}

/** Whether a draft uses a stored secret: one that is set and not given with the draft. */
export function usesStoredSecrets(base: SettingsBase, fields: readonly PluginField[], given: SettingValues): boolean {
  const set = new Set([...Object.keys(base.settings), ...base.attached]);
  return fields.some(({ key, secret }) => secret === true && set.has(key) && (given[key] ?? undefined) === undefined);
}

/** Removes stored secrets, for code that they were not given for. */
export function withoutStoredSecrets(base: SettingsBase, fields: readonly PluginField[]): SettingsBase {
  const secrets = new Set(fields.filter(({ secret }) => secret === true).map(({ key }) => key));
  const entries = Object.entries(base.settings).filter(([key]) => !secrets.has(key));
  return {
    settings: Object.fromEntries(entries),
    attached: new Set([...base.attached].filter((key) => !secrets.has(key))),
  };
}
