import { importName } from '../../../../src/wire/contract/import-name.ts';
import type { ImportConfig, Plugin } from './imports-query.ts';
import { linesOf } from './upload-paths.ts';

/** Returns the name of the import app of a config, which the API sends as JSON text. */
export function sourceName({ plugin_info }: Pick<ImportConfig, 'plugin_info'>): string {
  const info: unknown = JSON.parse(plugin_info);
  return typeof info === 'object' && info !== null && 'name' in info ? String(info.name) : '';
}

/** Returns the name of an import until a user gives it one: "Mixpanel, 25 files". `format` is the name of the format, once known. */
export function automaticName(plugin: Pick<Plugin, 'slug' | 'name'>, paths: unknown, format?: string): string {
  const [first, ...others] = linesOf(String(paths ?? '')).map((line) => line.replace(/^upload:/, ''));
  const files = plugin.slug === 'files' && first !== undefined ? { first, count: others.length + 1 } : undefined;
  return importName(plugin.name, files, format);
}
