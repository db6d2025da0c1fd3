import { readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { checkSettings } from '../../plugins/check-settings.ts';
import type { PluginField, SettingValues } from '../../plugins/fields.ts';
import type { Attachment } from '../../plugins/host.ts';
import type { JsonValue } from '../../base/json.ts';
import { CommandError } from '../exit-codes.ts';
import { jsonObjectIn, pairOf } from '../read-arguments.ts';

export interface GivenSettings {
  readonly values: SettingValues;
  readonly files: ReadonlyMap<string, Attachment>;
}

/** Reads `--config k=v`, `--config-file c.json` (an object) and `--attachment k=path`, in this order of precedence. Errors: usage. */
export function readSettings(options: {
  readonly config?: readonly string[];
  readonly configFile?: string;
  readonly attachment?: readonly string[];
}): GivenSettings {
  const values: Record<string, JsonValue> =
    options.configFile === undefined ? {} : { ...jsonObjectIn('--config-file', options.configFile) };
  for (const text of options.config ?? []) {
    const { key, value } = pairOf('--config', text);
    values[key] = value;
  }
  const files = new Map<string, Attachment>();
  for (const text of options.attachment ?? []) {
    const { key, value: path } = pairOf('--attachment', text);
    const content = readBytes('--attachment', path);
    files.set(key, { fileName: basename(path), contentType: contentType(path), content });
  }
  return { values, files };
}

/** Returns the settings for a plugin with these fields. Errors: usage. */
export function settingsFor(given: GivenSettings, fields: readonly PluginField[], flag = '--config'): GivenSettings {
  const known = new Set(fields.map(({ key }) => key));
  const values = Object.fromEntries(Object.entries(given.values).filter(([key]) => known.has(key)));
  const [problem] = checkSettings(fields, values);
  if (problem !== undefined) {
    throw new CommandError('usage', `${flag} ${problem.attr?.replace('settings.', '')}: ${problem.detail}`);
  }
  return { values, files: new Map([...given.files].filter(([key]) => known.has(key))) };
}

/** Derives the fields of a plugin without declared ones from the given settings. */
export function fieldsGiven({ values, files }: GivenSettings): PluginField[] {
  const typeOf = (value: JsonValue): PluginField['type'] => (typeof value === 'string' ? 'string' : 'json');
  return [
    ...Object.entries(values).map(([key, value]) => ({ key, name: key, type: typeOf(value) })),
    ...[...files.keys()].map((key) => ({ key, name: key, type: 'attachment' as const })),
  ];
}

/** Refuses a setting that no plugin of the chain has. Errors: usage. */
export function checkAllUsed(given: GivenSettings, fields: readonly (readonly PluginField[])[]): void {
  const known = new Set(fields.flat().map(({ key }) => key));
  const unknown = [...Object.keys(given.values), ...given.files.keys()].find((key) => !known.has(key));
  if (unknown === undefined) return;
  const expected = known.size === 0 ? 'they have none' : `expected one of ${[...known].join(', ')}`;
  throw new CommandError('usage', `no plugin here has a setting "${unknown}"; ${expected}`);
}

function readBytes(option: string, path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new CommandError('usage', `${option}: cannot read ${path} (${(cause as Error).message})`, { cause });
  }
}

const types: Readonly<Record<string, string>> = {
  '.json': 'application/json',
  '.csv': 'text/csv',
  '.txt': 'text/plain',
};

function contentType(path: string): string {
  return types[extname(path).toLowerCase()] ?? 'application/octet-stream';
}
