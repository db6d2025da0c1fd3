import type { ImportConfig } from './imports-query.ts';

/** Name of the app that a config runs: it is in JSON text of the published record. */
export function sourceName({ plugin_info }: Pick<ImportConfig, 'plugin_info'>): string {
  const info: unknown = JSON.parse(plugin_info);
  return typeof info === 'object' && info !== null && 'name' in info ? String(info.name) : '';
}
