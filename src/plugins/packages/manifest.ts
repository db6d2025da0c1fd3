import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import type { SchemaEntry } from '../fields.ts';
import { PluginPackageError } from '../plugin-package-error.ts';
import { parseConfigSchema } from './config-schema.ts';

/** The contents of plugin.json, completed from package.json. */
export interface Manifest {
  /** `undefined` if neither file states one. */
  readonly name: string | undefined;
  readonly description: string;
  /** Page of the plugin; http(s) only. */
  readonly url: string | null;
  /** `undefined` if not stated. */
  readonly version: string | undefined;
  /** Entry file as stated, e.g. `dist/index.js`. */
  readonly main: string | undefined;
  readonly schema: readonly SchemaEntry[];
  /** Jobs that users may start, by name. */
  readonly publicJobs: JsonObject;
}

const nameLengthMax = 200;
const descriptionLengthMax = 5000;
const versionLengthMax = 100;
const manifestLengthMax = 500_000;

/** Text files by path from the package's root. */
export type TextFiles = ReadonlyMap<string, string>;

/** Throws PluginPackageError naming the file and the invalid key. */
export function readManifest(files: TextFiles): Manifest {
  const plugin = parseObject(files, 'plugin.json');
  const packageJson = parseObject(files, 'package.json');
  const url = textOf(plugin, 'url', 'plugin.json');
  return {
    name: nameOf(plugin, packageJson),
    description: (textOf(plugin, 'description', 'plugin.json') ?? '').slice(0, descriptionLengthMax),
    url: url !== undefined && /^https?:\/\//.test(url) ? url : null,
    version: versionOf(packageJson) ?? versionOf(plugin),
    main: textOf(plugin, 'main', 'plugin.json'),
    schema: parseConfigSchema(plugin['config']),
    publicJobs: publicJobsOf(plugin['publicJobs']),
  };
}

/** `main` of package.json, for packages whose entry is neither named in plugin.json nor in a usual place. */
export function packageMain(files: TextFiles): string | undefined {
  return textOf(parseObject(files, 'package.json'), 'main', 'package.json');
}

/** Returns the plugin's name; `undefined` if its files state none. */
export function pluginNameOf(files: TextFiles): string | undefined {
  return nameOf(parseObject(files, 'plugin.json'), parseObject(files, 'package.json'));
}

function nameOf(plugin: JsonObject, packageJson: JsonObject): string | undefined {
  const name = textOf(plugin, 'name', 'plugin.json') ?? textOf(packageJson, 'name', 'package.json');
  return name?.trim().slice(0, nameLengthMax) || undefined;
}

function versionOf(json: JsonObject): string | undefined {
  const { version } = json;
  return typeof version === 'string' && version.trim() !== '' ? version.trim().slice(0, versionLengthMax) : undefined;
}

function parseObject(files: TextFiles, path: string): JsonObject {
  const text = files.get(path);
  if (text === undefined) return {};
  if (text.length > manifestLengthMax) {
    throw new PluginPackageError(`${path}: expected at most ${manifestLengthMax} characters, got ${text.length}`);
  }
  const value = parseJson(text.replace(/^\ufeff/, ''), path);
  if (isObject(value)) return value;
  throw new PluginPackageError(`${path}: expected a JSON object`);
}

function parseJson(text: string, path: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw new PluginPackageError(`${path}: expected JSON: ${(cause as Error).message}`, { cause });
  }
}

function textOf(json: JsonObject, key: string, path: string): string | undefined {
  const value = json[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new PluginPackageError(`${path}: "${key}": expected text`);
  return value;
}

function publicJobsOf(value: JsonValue | undefined): JsonObject {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) {
    throw new PluginPackageError('plugin.json: "publicJobs": expected an object of jobs by name');
  }
  const broken = Object.keys(value).find((name) => !isObject(value[name]));
  if (broken === undefined) return value;
  throw new PluginPackageError(`plugin.json: "publicJobs": "${broken}": expected an object such as {"payload": {}}`);
}
