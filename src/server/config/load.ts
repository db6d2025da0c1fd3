import { readFileSync } from 'node:fs';
import { settingDefinitions, type SettingDefinition, type SettingName, type Settings } from './settings.ts';
import { inWords } from '../../base/words.ts';

export type Origin = 'flag' | 'environment' | 'file' | 'default';
export interface LoadedSettings {
  readonly settings: Settings;
  /** Origin of each value, e.g. `environment (MILLRACE_PORT)`. */
  readonly origins: Readonly<Record<SettingName, string>>;
  /** Deprecations, one sentence each. */
  readonly notes: readonly string[];
}

/** All problems of a configuration, one sentence each. */
export class ConfigError extends Error {
  override name = 'ConfigError';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

export interface ConfigSources {
  /** Values of command-line flags by setting name, as typed. */
  readonly flags?: Readonly<Partial<Record<SettingName, string>>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Path of a JSON file: `{"port": 8001}`. */
  readonly file?: string | undefined;
}

const names = Object.keys(settingDefinitions) as SettingName[];

/** Reads and validates all settings. @throws ConfigError with every problem */
export function loadSettings(sources: ConfigSources): LoadedSettings {
  const { env } = sources;
  const problems: string[] = [];
  const fromFile = readConfigFile(sources.file ?? env['MILLRACE_CONFIG_FILE'], problems);
  refuseUnknownVariables(env, problems);
  const notes: string[] = [];
  const values: Partial<Record<SettingName, unknown>> = {};
  const origins: Partial<Record<SettingName, string>> = {};
  for (const name of names) {
    const definition: SettingDefinition = settingDefinitions[name];
    const found = findValue(name, definition, sources.flags ?? {}, env, fromFile, problems);
    origins[name] = found.origin;
    const text = found.text === undefined ? undefined : replaceRenamed(definition, found.text, notes);
    values[name] = text === undefined ? definition.default : parseValue(found.origin, definition, text, problems);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return { settings: values as Settings, origins: origins as Record<SettingName, string>, notes };
}

/** Replaces list items of older versions with their current names. */
function replaceRenamed({ env, renamed }: SettingDefinition, text: string, notes: string[]): string {
  if (renamed === undefined) return text;
  return text
    .split(',')
    .map((item) => {
      const now = renamed[item.trim()]?.join(',');
      if (now !== undefined) notes.push(`${env}: "${item.trim()}" was renamed to "${now}"; update the setting`);
      return now ?? item;
    })
    .join(',');
}

function findValue(
  name: SettingName,
  definition: SettingDefinition,
  flags: NonNullable<ConfigSources['flags']>,
  env: ConfigSources['env'],
  fromFile: Readonly<Record<string, string>>,
  problems: string[],
): { text?: string; origin: string } {
  const flag = flags[name];
  if (flag !== undefined) return { text: flag, origin: `flag (${flagName(name)})` };
  const variable = env[definition.env];
  if (variable !== undefined && variable !== '') return { text: variable, origin: `environment (${definition.env})` };
  const path = definition.secret ? env[`${definition.env}_FILE`] : undefined;
  if (path) {
    try {
      return { text: readFileSync(path, 'utf8').trim(), origin: `environment (${definition.env}_FILE)` };
    } catch (cause) {
      problems.push(`${definition.env}_FILE: expected a readable file, got: ${path} (${(cause as Error).message})`);
    }
  }
  const filed = fromFile[name];
  if (filed !== undefined) return { text: filed, origin: 'file' };
  return { origin: 'default' };
}

/** `dataDir` → `--data-dir`. */
export function flagName(name: SettingName): string {
  return `--${inWords(name, '-')}`;
}

/** `dataDir` → `data_dir`, as in settings files and `config show --json`. */
export function fileName(name: SettingName): string {
  return inWords(name, '_');
}

function parseValue(origin: string, definition: SettingDefinition, text: string, problems: string[]): unknown {
  const shown = definition.secret ? '(a secret)' : JSON.stringify(text);
  const refuse = (expected: string): undefined => {
    problems.push(`${definition.env} from ${origin}: expected ${expected}, got: ${shown}`);
    return undefined;
  };
  switch (definition.type) {
    case 'string':
      return text;
    case 'boolean':
      if (/^(true|1|yes|on)$/i.test(text)) return true;
      if (/^(false|0|no|off)$/i.test(text)) return false;
      return refuse('true or false');
    case 'integer': {
      const number = Number(text);
      const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = definition;
      if (text.trim() !== '' && Number.isInteger(number) && number >= min && number <= max) return number;
      return refuse(`a whole number from ${min} to ${max}`);
    }
    case 'choice':
      return definition.choices?.includes(text) ? text : refuse(`one of ${definition.choices?.join(', ')}`);
    case 'list': {
      const items = text.split(',').map((item) => item.trim());
      if (items.every((item) => definition.choices?.includes(item))) return [...new Set(items)];
      return refuse(`a comma-separated list of ${definition.choices?.join(', ')}`);
    }
  }
}

function readConfigFile(path: string | undefined, problems: string[]): Record<string, string> {
  if (!path) return {};
  const texts: Record<string, string> = {};
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    for (const [key, value] of Object.entries(parsed as Record<string, unknown>)) {
      const name = names.find((each) => fileName(each) === key);
      if (name !== undefined) texts[name] = Array.isArray(value) ? value.join(',') : String(value);
      else problems.push(`${path}: unknown setting "${key}"; expected one of ${names.map(fileName).join(', ')}`);
    }
  } catch (cause) {
    problems.push(`${path}: expected a JSON object of settings (${(cause as Error).message})`);
  }
  return texts;
}

function refuseUnknownVariables(env: ConfigSources['env'], problems: string[]): void {
  const known = new Set<string>([
    'MILLRACE_CONFIG_FILE',
    'MILLRACE_URL',
    'MILLRACE_API_KEY',
    'MILLRACE_PROJECT_API_KEY',
  ]);
  for (const definition of Object.values(settingDefinitions) as SettingDefinition[]) {
    known.add(definition.env);
    if (definition.secret) known.add(`${definition.env}_FILE`);
  }
  for (const name of Object.keys(env)) {
    if (name.startsWith('MILLRACE_') && !known.has(name)) {
      problems.push(`${name}: unknown setting; "millrace config show" lists all settings`);
    }
  }
}
