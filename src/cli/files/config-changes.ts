import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { isGiven, ownValue, settingText, withDefaults } from '../../plugins/check-settings.ts';
import type { PluginField } from '../../plugins/fields.ts';
import type { ConfigEntry } from './configuration-file.ts';
import type { Setting, Settings } from './resolve-settings.ts';
import { wantedSchedule, type PresentConfig } from './target.ts';

/** A changed field; new without `before`, removed without `after`. */
export interface Change {
  readonly field: string;
  readonly before?: JsonValue;
  readonly after?: JsonValue;
  /** `before` and `after` describe a value that must not be shown. */
  readonly hidden?: true;
}

/** Keys of secret values as the service has compared them; keys in neither set could not be compared. */
export interface Compared {
  readonly same: ReadonlySet<string>;
  readonly different: ReadonlySet<string>;
}

/** Returns the keys of secrets and files set on both sides, which only the service can compare. */
export function keysToCompare(settings: Settings, present: PresentConfig): string[] {
  return [...settings].flatMap(([key, setting]) => (isHidden(setting) && isSet(present, key) ? [key] : []));
}

function isHidden(setting: Setting): boolean {
  return setting.kind === 'secret' || setting.kind === 'file';
}

function isSet({ settings }: PresentConfig, key: string): boolean {
  return isGiven(ownValue(settings, key));
}

/** Returns the changes of fields other than settings. */
export function fieldChanges(
  entry: ConfigEntry,
  present: PresentConfig,
  { name, version }: { readonly name: string; readonly version: string | undefined },
): Change[] {
  const pairs: [string, JsonValue, JsonValue][] = [
    ['name', present.name, name],
    ['version', present.version, version ?? present.version],
    ['enabled', present.enabled, entry.enabled ?? true],
    ['description', present.description, entry.description ?? present.pluginDescription],
  ];
  const fields = pairs.flatMap(([field, before, after]) => (before === after ? [] : [{ field, before, after }]));
  return [...fields, ...scheduleChange(entry, present.schedule)];
}

/** @param before `null` without a schedule, or for a new config */
export function scheduleChange({ schedule }: ConfigEntry, before: PresentConfig['schedule']): Change[] {
  if (schedule === undefined) return [];
  const after = schedule === null ? null : wantedSchedule(schedule);
  if (isDeepStrictEqual(before, after)) return [];
  return [{ field: 'schedule', ...(before !== null && { before }), ...(after !== null && { after }) }];
}

/** Returns the changes of an existing config's settings. */
export function settingChanges(
  settings: Settings,
  { settings: stored, fields }: Pick<PresentConfig, 'settings' | 'fields'>,
  { different }: Pick<Compared, 'different'>,
): Change[] {
  const omitted = fields.filter(({ key }) => !settings.has(key)).flatMap((field) => resetSetting(field, stored));
  const given = [...settings].flatMap(([key, setting]): Change[] => {
    const field = fields.find((each) => each.key === key);
    const before = ownValue(stored, key);
    const name = `settings.${key}`;
    switch (setting.kind) {
      case 'value':
        return valueChange(name, field, before, setting.value).map((change) => hideReferenced(change, setting));
      case 'unset':
        return setting.isSecret || field?.type === 'attachment'
          ? hiddenRemoval(name, before)
          : valueChange(name, field, before);
      case 'secret':
      case 'file':
        if (!isGiven(before)) return [{ field: name, after: setting.place, hidden: true }];
        return different.has(key) ? [{ field: name, before: 'another value', after: setting.place, hidden: true }] : [];
    }
  });
  return [...given, ...omitted];
}

/** Returns the settings of a new config as changes. */
export function newSettings(settings: Settings): Change[] {
  return [...settings].flatMap(([key, setting]): Change[] => {
    const field = `settings.${key}`;
    if (setting.kind === 'value') return [hideReferenced({ field, after: setting.value }, setting)];
    return setting.kind === 'unset' ? [] : [{ field, after: setting.place, hidden: true }];
  });
}

/** Hides values found by references: a file from elsewhere must not reveal what is on this machine. */
function hideReferenced(change: Change, { place }: Extract<Setting, { readonly kind: 'value' }>): Change {
  if (place === undefined) return change;
  return { field: change.field, ...('before' in change && { before: 'another value' }), after: place, hidden: true };
}

/** Resets a setting missing in the file to its default; a secret stays. */
function resetSetting(field: PluginField, stored: JsonObject): Change[] {
  if (field.secret === true) return [];
  const before = ownValue(stored, field.key);
  const name = `settings.${field.key}`;
  return field.type === 'attachment' ? hiddenRemoval(name, before) : valueChange(name, field, before);
}

/** Returns no change if the plugin receives the same value; a default counts as given. */
function valueChange(name: string, field: PluginField | undefined, before?: JsonValue, after?: JsonValue): Change[] {
  const effective = (value: JsonValue | undefined): JsonValue | undefined => {
    if (field === undefined) return isGiven(value) ? value : undefined;
    const found = withDefaults([field], value === undefined ? {} : { [field.key]: value })[field.key];
    return found === undefined || field.type === 'json' ? found : settingText(found);
  };
  if (isDeepStrictEqual(effective(before), effective(after))) return [];
  return [{ field: name, ...(isGiven(before) && { before }), ...(isGiven(after) && { after }) } as Change];
}

function hiddenRemoval(field: string, before: JsonValue | undefined): Change[] {
  if (!isGiven(before)) return [];
  const name = isObject(before) && typeof before['name'] === 'string' ? `file ${before['name']}` : 'a value';
  return [{ field, before: name, hidden: true }];
}
