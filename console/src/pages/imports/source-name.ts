import type { ImportConfig } from './imports-query.ts';

/** Returns the name of the import app of a config, which the API sends as JSON text. */
export function sourceName({ plugin_info }: Pick<ImportConfig, 'plugin_info'>): string {
  const info: unknown = JSON.parse(plugin_info);
  return typeof info === 'object' && info !== null && 'name' in info ? String(info.name) : '';
}
