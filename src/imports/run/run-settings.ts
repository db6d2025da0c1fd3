import { FormatOptionsError } from '../formats/format.ts';
import type { ImportChoice, ImportRules } from '../../wire/contract/import-choice.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { ChoiceError, parseChoice, withRange } from '../choosing/parse-choice.ts';
import { assertRulesFit } from '../choosing/unusual-values.ts';
import { parseNames } from '../formats/names.ts';
import { findFormat, formats } from '../formats/registry.ts';
import { readReplace } from './resume-changes.ts';
import type { RunOptions, RunTarget } from './run.ts';
import type { TimeRange } from '../source.ts';
import { isGiven, ownValue, withDefaults } from '../../plugins/check-settings.ts';
import type { PluginField, SettingValues } from '../../plugins/fields.ts';
import {
  isImportSource,
  SettingsError,
  wrongSetting,
  type ImportSourcePlugin,
  type Plugin,
} from '../../plugins/plugin.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { withEventFilter } from '../../plugins/event-filter.ts';
import { integerSetting, jsonSetting, textSetting } from '../../plugins/setting-values.ts';

const eventsPerSecondMax = 1_000_000;
const limitMax = 1_000_000_000;

/** Settings that the payload of a run can override; `rejected_max` is a share there (0.01) and a percentage in settings. */
export const runOverrides = [
  'from',
  'to',
  'limit',
  'last',
  'rejected_max',
  'events_per_second',
  'format',
  'format_options',
  'names',
  'choose',
  'transform',
  'again',
  'replace',
  'preflight',
] as const;

type Sourced = Pick<ImportSourcePlugin, 'slug' | 'formats' | 'range' | 'fields'>;

/** Returns every setting of a plugin, including those that all import sources or all transformations have. */
export function fieldsOf(plugin: Plugin): readonly PluginField[] {
  if (plugin.kind === 'transformation') return withEventFilter(plugin.fields);
  return isImportSource(plugin) ? [...plugin.fields, ...importFields(plugin)] : plugin.fields;
}

/** Returns the settings that every import source has in addition to its own. */
export function importFields(plugin: Pick<Sourced, 'formats'>): PluginField[] {
  return [formatField(plugin), ...recordFields, ...speedFields, ...targetFields];
}

function formatField({ formats: own }: Pick<Sourced, 'formats'>): PluginField {
  const [standard] = own;
  return {
    key: 'format',
    name: 'Format',
    type: 'choice',
    choices: own.length > 0 ? own : formats.map(({ slug }) => slug),
    hint: 'What the records look like; `mapping` takes any, by your own rules.',
    ...(standard === undefined ? { required: true } : { default: standard }),
  };
}

const recordFields: readonly PluginField[] = [
  {
    key: 'format_options',
    name: 'Options of the format',
    type: 'json',
    hint: 'A JSON object, for example {"time_zone": "Europe/Berlin"}; the reference has a page per format.',
  },
  {
    key: 'names',
    name: 'Names',
    type: 'json',
    hint: 'How events and properties are called: {"events": {"old": "new"}}; null skips one. Empty: as the format does.',
  },
  {
    key: 'choose',
    name: 'Choice',
    type: 'json',
    hint: 'What of the source is imported, and as what: {"events": {"only": ["Order *"]}, "sample": 0.1}. Empty: all of it.',
  },
  {
    key: 'transform',
    name: 'Transform',
    type: 'string',
    hint: 'Id of a transformation config of this project whose code changes or drops each event before the check. Empty: none.',
  },
];

const speedFields: readonly PluginField[] = [
  {
    key: 'events_per_second',
    name: 'Events per second',
    type: 'number',
    integer: true,
    minimum: 0,
    maximum: eventsPerSecondMax,
    default: '0',
    hint: `Highest speed of loading, 0 to ${eventsPerSecondMax}. 0: as fast as the target takes them.`,
  },
  {
    key: 'rejected_max',
    name: 'Rejected records, at most (%)',
    type: 'number',
    minimum: 0,
    maximum: 100,
    default: '0',
    hint: 'Percentage of the records that may be unreadable before loading refuses to start, 0 to 100.',
  },
];

const targetFields: readonly PluginField[] = [
  {
    key: 'target_url',
    name: 'Target',
    type: 'string',
    hint: 'Base address of another service that takes `/batch/`, such as https://eu.example.com. Empty: this project.',
  },
  {
    key: 'target_api_key',
    name: 'Project key of the target',
    type: 'string',
    secret: true,
    sent_to: ['target_url'],
    required_if: [['target_url']],
    hint: 'Only with a target: the key of the project there that gets the events.',
  },
  {
    key: 'target_personal_api_key',
    name: 'Personal key of the target',
    type: 'string',
    secret: true,
    sent_to: ['target_url'],
    hint: 'Only with a target, to read back what is stored there. Empty: nothing is compared.',
  },
];

/**
 * Returns the options of a run from the settings of a config and the payload of the operation that starts it; the payload has priority.
 * Settings of the source itself are not checked. Throws SettingsError.
 */
export function runOptionsOf(plugin: Sourced, given: SettingValues, payload: JsonObject): RunOptions {
  const settings = withDefaults(importFields(plugin), given);
  const unknown = Object.keys(payload).find((key) => !(runOverrides as readonly string[]).includes(key));
  if (unknown !== undefined) {
    throw new SettingsError(`expected only ${runOverrides.join(', ')}, got "${unknown.slice(0, 60)}"`);
  }
  // Both name and shape what describes records in the same way.
  const records = withOverrides(settings, payload, ['format', 'format_options', 'names', 'choose']);
  const format = formatOf(plugin, records);
  const formatOptions = formatOptionsOf(records);
  const names = objectSetting(records, 'names');
  tryFormat(format, formatOptions, names);
  const range = rangeOf(payload);
  const choice = choiceOf(plugin, records, range);
  tryRules(format, choice);
  const limit = numberIn(payload, 'limit', { min: 1, max: limitMax, whole: true });
  return {
    range,
    format,
    formatOptions,
    ...(names === undefined ? {} : { names }),
    ...(choice === undefined ? {} : { choice }),
    ...(isAgain(payload) && { again: true }),
    ...replaceOf(payload, targetOf(settings)),
    last: lastOf(payload),
    ...(limit === undefined ? {} : { limit }),
    rejectedMax: numberIn(payload, 'rejected_max', { min: 0, max: 1 }) ?? rejectedShareOf(settings),
    eventsPerSecond:
      numberIn(payload, 'events_per_second', { min: 0, max: eventsPerSecondMax, whole: true }) ??
      integerSetting(settings, 'events_per_second', { standard: 0, min: 0, max: eventsPerSecondMax }),
    target: targetOf(settings),
    ...(wantsPreflight(payload) ? {} : { preflight: false }),
  };
}

/** Returns the id of the transformation config for the events of a run; `undefined` without a transform. Throws SettingsError. */
export function transformIdOf(given: SettingValues, payload: JsonObject): number | undefined {
  const { transform } = withOverrides(given, payload, ['transform']);
  if (transform === undefined || !isGiven(transform)) return undefined;
  const id = Number(transform);
  if (Number.isInteger(id) && id > 0) return id;
  throw wrongSetting('transform', 'expected the id of a transformation config');
}

function wantsPreflight(payload: JsonObject): boolean {
  const value = ownValue(payload, 'preflight') ?? true;
  if (typeof value === 'boolean') return value;
  throw new SettingsError('"preflight": expected true or false');
}

function withOverrides(settings: SettingValues, payload: JsonObject, keys: readonly string[]): SettingValues {
  const overrides = keys.flatMap((key) => {
    const value = ownValue(payload, key);
    return value !== undefined && isGiven(value) ? [[key, value] as const] : [];
  });
  return { ...settings, ...Object.fromEntries(overrides) };
}

function formatOf(plugin: Sourced, settings: SettingValues): string {
  const slug = textSetting(settings, 'format');
  const choices = plugin.formats.length > 0 ? plugin.formats : formats.map((format) => format.slug);
  if (choices.includes(slug)) return slug;
  const came = slug === '' ? 'none' : `"${slug.slice(0, 60)}"`;
  throw wrongSetting('format', `expected one of ${choices.join(', ')}, got ${came}`);
}

/** Options are texts; JSON values (the rules of `mapping`) are converted to text. */
function formatOptionsOf(settings: SettingValues): Record<string, string> {
  const given = objectSetting(settings, 'format_options') ?? {};
  return Object.fromEntries(
    Object.entries(given).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

function objectSetting(settings: SettingValues, key: string): JsonObject | undefined {
  const value = jsonSetting(settings, key);
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'object' && !Array.isArray(value)) return value;
  throw wrongSetting(key, 'expected a JSON object');
}

/** Fails now rather than after hours of export. */
function tryFormat(slug: string, options: Readonly<Record<string, string>>, names: JsonObject | undefined): void {
  const format = findFormat(slug);
  if (format === undefined) throw wrongSetting('format', `this program has no format "${slug}"`);
  try {
    format.createReader(options, parseNames(format.names, names));
  } catch (error) {
    if (!(error instanceof FormatOptionsError)) throw error;
    throw new SettingsError(`settings "format_options" and "names": ${error.message}`, { cause: error });
  }
}

function tryRules(slug: string, choice: ImportChoice | undefined): void {
  try {
    if (choice !== undefined) assertRulesFit(choice, findFormat(slug)?.times);
  } catch (error) {
    if (!(error instanceof FormatOptionsError)) throw error;
    throw new SettingsError(`setting "choose": ${error.message}`, { key: 'choose', cause: error });
  }
}

/** Throws ApiError invalid_input if the records of the run's format have no value that a rule needs. */
export function refuseRules({ format }: Pick<RunOptions, 'format'>, rules: ImportRules | undefined): void {
  try {
    tryRules(format, rules);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    throw new ApiError('invalid_input', `${error.message}.`, { attr: 'rules', cause: error });
  }
}

function isAgain(payload: JsonObject): boolean {
  const again = ownValue(payload, 'again') ?? false;
  if (typeof again === 'boolean') return again;
  throw new SettingsError('"again": expected true or false');
}

function replaceOf(payload: JsonObject, { kind }: RunTarget): Pick<RunOptions, 'replace'> {
  const replace = readReplace(ownValue(payload, 'replace'));
  if (replace === undefined || kind === 'project') return replace === undefined ? {} : { replace };
  throw new SettingsError(
    '"replace": expected a run that loads into this project; runs of other services are undone there',
  );
}

function lastOf(payload: JsonObject): RunOptions['last'] {
  const last = ownValue(payload, 'last') ?? 'report';
  if (last === 'check' || last === 'report') return last;
  throw new SettingsError('"last": expected check or report');
}

function choiceOf(plugin: Sourced, settings: SettingValues, range: TimeRange): ImportChoice | undefined {
  const given = jsonSetting(settings, 'choose');
  try {
    const choice = given === undefined || given === null ? undefined : parseChoice(given);
    return withRange(plugin, choice, range);
  } catch (error) {
    if (!(error instanceof ChoiceError)) throw error;
    throw new SettingsError(`setting "choose": ${error.message}`, { key: 'choose', cause: error });
  }
}

function rangeOf(payload: JsonObject): TimeRange {
  const from = timeIn(payload, 'from');
  const to = timeIn(payload, 'to');
  if (from !== undefined && to !== undefined && from >= to) {
    throw new SettingsError(`"to": expected a time after "from" (${from}), got ${to}`);
  }
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}

/** A day or a time; UTC without a zone. */
const timePattern = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

function timeIn(payload: JsonObject, key: string): string | undefined {
  const value = ownValue(payload, key);
  if (!isGiven(value)) return undefined;
  if (typeof value === 'string' && timePattern.test(value)) {
    const zoned = value.length === 10 || /(Z|[+-]\d\d:\d\d)$/.test(value.slice(10)) ? value : `${value}Z`;
    const time = new Date(zoned);
    if (!Number.isNaN(time.getTime())) return time.toISOString();
  }
  throw new SettingsError(`"${key}": expected a day or a time in ISO 8601, such as 2024-03-01 or 2024-03-01T12:00:00Z`);
}

function numberIn(
  payload: JsonObject,
  key: string,
  { min, max, whole = false }: { readonly min: number; readonly max: number; readonly whole?: boolean },
): number | undefined {
  const value: JsonValue | undefined = ownValue(payload, key);
  if (!isGiven(value)) return undefined;
  if (typeof value === 'number' && value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
  throw new SettingsError(`"${key}": expected a ${whole ? 'whole ' : ''}number from ${min} to ${max}`);
}

function rejectedShareOf(settings: SettingValues): number {
  const text = textSetting(settings, 'rejected_max', '0').trim();
  const percent = Number(text);
  if (text !== '' && percent >= 0 && percent <= 100) return percent / 100;
  throw wrongSetting('rejected_max', 'expected a percentage from 0 to 100');
}

function targetOf(settings: SettingValues): RunTarget {
  const text = textSetting(settings, 'target_url').trim();
  if (text === '') return { kind: 'project' };
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw wrongSetting('target_url', 'expected an address such as https://eu.example.com, without a key');
  }
  if (textSetting(settings, 'target_api_key') === '') {
    throw wrongSetting('target_api_key', 'expected the project key of the target, got none');
  }
  return { kind: 'http', url: url.href };
}
