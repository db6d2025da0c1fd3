import { fieldErrors } from '../contract/errors.ts';
import { checkSettings } from '../plugins/check-settings.ts';
import { nextSettings, splitFileReferences } from '../plugins/configs/write-settings.ts';
import type { PluginField, SettingValues } from '../plugins/fields.ts';

/** Of a config, perhaps of one that is not stored yet. */
export interface SettingsBase {
  readonly settings: SettingValues;
  /** Keys of its files. */
  readonly attached: ReadonlySet<string>;
}

/** As saving them would, so that what works as a draft can be saved. @throws ApiError naming the settings that are refused */
export function draftSettings(base: SettingsBase, fields: readonly PluginField[], given: SettingValues): SettingsBase {
  const { values } = splitFileReferences(fields, given);
  const [first, ...others] = checkSettings(fields, values);
  if (first !== undefined) throw fieldErrors([first, ...others]);
  const cleared = new Set(Object.keys(values));
  return {
    settings: nextSettings({ fields, settings: base.settings }, values, 'merge'),
    attached: new Set([...base.attached].filter((key) => !cleared.has(key))),
  };
}
