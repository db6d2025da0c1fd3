import type { Queries } from '../../stores/metadata/queries.ts';
import { healthOf } from './config-health.ts';
import { shownDescription, shownName } from './config-record.ts';
import { countConfigs, listConfigs, type ConfigFilter, type ConfigPlace, type StoredConfig } from './stored-config.ts';
import { isRowId, type ReadPlugin } from './stored-plugin.ts';

interface ConfigSearch extends ConfigFilter {
  /** Part of a name, a description or the plugin's slug, case-insensitive. */
  readonly search?: string | undefined;
  /** Only failing configs, or only healthy ones. */
  readonly failing?: boolean | undefined;
}

/** Returns a page of the matching configs by position, then id, and the total count. */
export async function searchConfigs(
  db: Queries,
  place: ConfigPlace,
  { search = '', failing, ...filter }: ConfigSearch,
  page: { readonly limit: number; readonly offset: number },
  read?: ReadPlugin,
): Promise<{ readonly count: number; readonly configs: readonly StoredConfig[] }> {
  if (filter.pluginId !== undefined && !isRowId(filter.pluginId)) return { count: 0, configs: [] };
  if (search === '' && failing === undefined) {
    const [count, configs] = await Promise.all([
      countConfigs(db, place.projectId, place.family, filter),
      listConfigs(db, place, page, read, filter),
    ]);
    return { count, configs };
  }
  // Names may be the plugin's, and health depends on its schema: only here are both available.
  const wanted = search.toLowerCase();
  const matching = (await listConfigs(db, place, undefined, read, filter)).filter(
    (config) =>
      (failing === undefined || (healthOf(config) !== '') === failing) &&
      textsOf(config).some((text) => text.toLowerCase().includes(wanted)),
  );
  return { count: matching.length, configs: matching.slice(page.offset, page.offset + page.limit) };
}

function textsOf(config: StoredConfig): string[] {
  return [shownName(config), shownDescription(config), config.plugin.slug, config.plugin.name];
}
