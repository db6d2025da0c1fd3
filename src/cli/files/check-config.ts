import type { JsonObject, JsonValue } from '../../base/json.ts';
import { checkSettings, isGiven, missingRequired, settingText } from '../../plugins/check-settings.ts';
import type { PluginField } from '../../plugins/fields.ts';
import { isImportSource, type Plugin } from '../../plugins/plugin.ts';
import type { ConfigEntry } from './configuration-file.ts';
import { nearest } from '../../base/nearest.ts';
import type { Path, Problem } from './read-file.ts';
import { referenceIn } from './references.ts';

/** The settings as the file has them. */
export function settingsOf({ settings = {} }: ConfigEntry): JsonObject {
  // What YAML can say beyond JSON is refused by the parser: it makes plain values of the core schema only.
  return settings as JsonObject;
}

/** Numbers and flags that a plugin takes as text; a secret's reference is a text, too. */
export function plainValue(field: PluginField, value: JsonValue): JsonValue {
  if (field.type === 'json') return value;
  return typeof value === 'boolean' || field.type === 'number' ? settingText(value) : value;
}

/** What of a config's settings its plugin would not take. Values that are named elsewhere are not looked at. */
export function settingProblems(fields: readonly PluginField[], entry: ConfigEntry, path: Path): Problem[] {
  const given = settingsOf(entry);
  const byKey = new Map(fields.map((field) => [field.key, field]));
  const problems = Object.entries(given).flatMap(([key, value]): Problem[] => {
    const field = byKey.get(key);
    const message = field === undefined ? unknownSetting(key, fields) : problemOf(field, value);
    return message === undefined ? [] : [{ path: [...path, 'settings', key], message }];
  });
  return [...problems, ...missing(fields, given, path)];
}

/** What of a config's schedule the service would not take. */
export function scheduleProblems(plugin: Plugin, { schedule }: ConfigEntry, path: Path): Problem[] {
  if (schedule === undefined || schedule === null) return [];
  const at = [...path, 'schedule'];
  if (!isImportSource(plugin) || plugin.range === undefined) {
    return [{ path: at, message: 'only import apps whose source can choose by time run by themselves' }];
  }
  const isOne = (schedule.every_minutes === undefined) !== (schedule.daily_at === undefined);
  return isOne ? [] : [{ path: at, message: 'expected either every_minutes or daily_at' }];
}

function unknownSetting(key: string, fields: readonly PluginField[]): string {
  const known = fields.map((field) => field.key);
  const near = nearest(key, known);
  if (near !== undefined) return `unknown setting; did you mean "${near}"?`;
  return known.length === 0 ? 'unknown setting; the plugin has none' : `unknown setting; there are ${known.join(', ')}`;
}

function problemOf(field: PluginField, value: JsonValue): string | undefined {
  if (!isGiven(value)) return undefined;
  const reference = referenceIn(value);
  if (field.type === 'attachment') {
    return reference !== undefined && 'file' in reference ? undefined : 'expected {file: PATH}';
  }
  if (field.secret === true) {
    return reference === undefined ? 'a secret: expected {env: NAME} or {file: PATH}, not the value' : undefined;
  }
  if (reference !== undefined && field.type !== 'json') return undefined;
  const plain = plainValue(field, value);
  // 1.10 would have lost its zero already.
  if (typeof plain === 'number') return 'expected text; put the number into quotes';
  return checkSettings([field], { [field.key]: plain })[0]?.detail;
}

function missing(fields: readonly PluginField[], given: JsonObject, path: Path): Problem[] {
  const named = (value: JsonValue): boolean => referenceIn(value) !== undefined;
  const files = Object.keys(given).filter((key) => named(given[key] ?? null));
  return missingRequired(fields, given, new Set(files)).map((key) => ({
    path: [...path, 'settings'],
    message: `expected "${key}", which the plugin requires`,
  }));
}
