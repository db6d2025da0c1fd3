import { fieldTypes } from '../../wire/contract/plugin-fields.ts';
import { type FieldCondition, type FieldText, type PluginField, type SchemaEntry } from '../fields.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { PluginPackageError } from '../plugin-package-error.ts';

const entriesMax = 500;
const keyLengthMax = 200;
const types: ReadonlySet<unknown> = new Set(fieldTypes);

/**
 * Parses `config` of a plugin.json: a list of fields, or an object of fields by key. Unknown keys are skipped.
 * Throws PluginPackageError.
 */
export function parseConfigSchema(config: JsonValue | undefined): SchemaEntry[] {
  if (config === undefined || config === null) return [];
  if (typeof config !== 'object') throw faulty('expected a list of fields, or an object of fields by key');
  const entries = Array.isArray(config)
    ? config.map((entry, index) => parseEntry(entry, `entry ${index + 1}`))
    : Object.entries(config).map(([key, entry]) => parseEntry(withKey(entry, key), `"${key}"`));
  if (entries.length > entriesMax) throw faulty(`expected at most ${entriesMax} fields, got ${entries.length}`);
  const keys = new Set<string>();
  for (const entry of entries) {
    if (!('key' in entry)) continue;
    if (keys.has(entry.key)) throw faulty(`field "${entry.key}" is defined twice`);
    keys.add(entry.key);
  }
  return entries;
}

function withKey(entry: JsonValue, key: string): JsonValue {
  return typeof entry === 'object' && entry !== null && !Array.isArray(entry) ? { key, ...entry } : entry;
}

function parseEntry(entry: JsonValue, where: string): SchemaEntry {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    throw faulty(`${where}: expected an object with a "key", or with "markdown" text`);
  }
  const { key, markdown } = entry;
  if (key === undefined || key === null || key === '') {
    if (typeof markdown === 'string') return { markdown } satisfies FieldText;
    throw faulty(`${where}: expected a "key" or "markdown"`);
  }
  if (typeof key !== 'string' || key.length > keyLengthMax || key === '__proto__') {
    throw faulty(`${where}: "key": expected text of at most ${keyLengthMax} characters`);
  }
  return parseField(key, entry);
}

function parseField(key: string, entry: JsonObject): PluginField {
  const choices = choicesOf(key, entry['choices']);
  const type = typeOf(entry['type'], choices);
  const name = textOf(key, entry, 'name');
  const hint = textOf(key, entry, 'hint');
  const markdown = textOf(key, entry, 'markdown');
  const standard = defaultOf(type, entry['default']);
  const requiredIf = conditionsOf(key, entry, 'required_if');
  const visibleIf = conditionsOf(key, entry, 'visible_if');
  return {
    key,
    name: name === undefined || name === '' ? key : name,
    type,
    ...(standard !== undefined && { default: standard }),
    ...(hint !== undefined && { hint }),
    ...(isYes(entry['required']) && { required: true }),
    ...(isYes(entry['secret']) && { secret: true, ...destinationsOf(key, entry) }),
    ...(type === 'choice' && { choices }),
    ...(type === 'number' && boundsOf(key, entry)),
    ...(typeof entry['order'] === 'number' && { order: entry['order'] }),
    ...(markdown !== undefined && { markdown }),
    ...(requiredIf !== undefined && { required_if: requiredIf }),
    ...(visibleIf !== undefined && { visible_if: visibleIf }),
  };
}

function destinationsOf(key: string, { sent_to }: JsonObject): Pick<PluginField, 'sent_to'> {
  if (sent_to === undefined || sent_to === null) return {};
  if (Array.isArray(sent_to) && sent_to.every((each) => typeof each === 'string')) return { sent_to };
  throw faulty(`field "${key}": "sent_to": expected a list of keys of other fields`);
}

function boundsOf(key: string, entry: JsonObject): Pick<PluginField, 'minimum' | 'maximum' | 'integer'> {
  const bound = (name: 'minimum' | 'maximum'): number | undefined => {
    const value = entry[name];
    if (value === undefined || value === null || typeof value === 'number') return value ?? undefined;
    throw faulty(`field "${key}": "${name}": expected a number`);
  };
  const [minimum, maximum] = [bound('minimum'), bound('maximum')];
  return {
    ...(minimum !== undefined && { minimum }),
    ...(maximum !== undefined && { maximum }),
    ...(isYes(entry['integer']) && { integer: true }),
  };
}

/** Numbers and flags are stored as text; an unknown or missing type is text, and so is a choice without choices. */
function typeOf(type: JsonValue | undefined, choices: readonly string[]): PluginField['type'] {
  if (!types.has(type) || (type === 'choice' && choices.length === 0)) return 'string';
  return type as PluginField['type'];
}

function defaultOf(type: PluginField['type'], value: JsonValue | undefined): JsonValue | undefined {
  if (value === undefined || value === null || type === 'attachment') return undefined;
  if (type === 'json' || typeof value === 'string') return value;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function choicesOf(key: string, choices: JsonValue | undefined): string[] {
  if (choices === undefined || choices === null) return [];
  const list = Array.isArray(choices) ? choices : undefined;
  if (list === undefined || list.some((choice) => choice === null || typeof choice === 'object')) {
    throw faulty(`field "${key}": "choices": expected a list of texts`);
  }
  return list.map(String);
}

function conditionsOf(
  key: string,
  entry: JsonObject,
  name: 'required_if' | 'visible_if',
): readonly FieldCondition[] | undefined {
  const rows = entry[name];
  if (rows === undefined || rows === null) return undefined;
  if (!Array.isArray(rows)) throw faulty(`field "${key}": "${name}": expected a list of [key, value]`);
  return rows.map((row): FieldCondition => {
    const [other, ...values] = Array.isArray(row) ? row : [];
    if (typeof other !== 'string') throw faulty(`field "${key}": "${name}": expected [key, value], got another row`);
    const [value] = values;
    return value === undefined ? [other] : [other, value];
  });
}

function textOf(key: string, entry: JsonObject, name: string): string | undefined {
  const value = entry[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw faulty(`field "${key}": "${name}": expected text`);
}

function isYes(value: JsonValue | undefined): boolean {
  return value === true || value === 'true';
}

function faulty(problem: string): PluginPackageError {
  return new PluginPackageError(`plugin.json: "config": ${problem}`);
}
