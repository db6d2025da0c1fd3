import { isDeepStrictEqual } from 'node:util';
import { checkSettings, isGiven, ownValue, settingText } from '../check-settings.ts';
import type { Attachment } from '../host.ts';
import type { JsonValue } from '../../base/json.ts';
import type { StoredConfig } from './stored-config.ts';
import { checkFiles, refuse, splitFileReferences, type SettingsInput } from './write-settings.ts';

/** Keys of the given settings, in their order. */
export interface ComparedSettings {
  readonly same: readonly string[];
  readonly different: readonly string[];
}

/**
 * Compares given settings with the stored ones, including secrets and files, which cannot be read; `""` and null match an
 * unset value. `stored` are the config's files. Throws ApiError for a value that could not be stored.
 */
export function compareSettings(
  config: StoredConfig,
  stored: ReadonlyMap<string, Pick<Attachment, 'content'>>,
  { values: given, files }: SettingsInput,
): ComparedSettings {
  const { fields } = config.plugin;
  const { values, keptFiles } = splitFileReferences(fields, given);
  refuse([...checkSettings(fields, values), ...checkFiles(fields, files)]);
  const isSame = (key: string): boolean => {
    const [file, kept] = [files.get(key), stored.get(key)];
    if (file !== undefined) return kept !== undefined && Buffer.from(kept.content).equals(file.content);
    if (fields.some((field) => field.key === key && field.type === 'attachment')) {
      return keptFiles.has(key) === (kept !== undefined);
    }
    return isDeepStrictEqual(comparable(ownValue(values, key)), comparable(ownValue(config.settings, key)));
  };
  const keys = [...new Set([...Object.keys(given), ...files.keys()])];
  return { same: keys.filter(isSame), different: keys.filter((key) => !isSame(key)) };
}

function comparable(value: JsonValue | undefined): JsonValue | undefined {
  return value !== undefined && isGiven(value) ? settingText(value) : undefined;
}
