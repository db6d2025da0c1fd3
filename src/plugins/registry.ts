import { systemClock } from '../base/clock.ts';
import { sampleEvents } from './import-apps/sample-events.ts';
import type { Plugin } from './plugin.ts';
import { dropEvents } from './transformations/drop-events.ts';
import { filterProperties } from './transformations/filter-properties.ts';
import { redactPersonalData } from './transformations/redact-personal-data.ts';
import { rename } from './transformations/rename.ts';
import { urlParameters } from './transformations/url-parameters.ts';

/** The plugins that this program brings. */
export interface PluginRegistry {
  list(): readonly Plugin[];
  /** Undefined: no such plugin in this program (a database may know one that a newer program brought). */
  get(slug: string): Plugin | undefined;
}

export function createRegistry(plugins: readonly Plugin[]): PluginRegistry {
  const bySlug = new Map(plugins.map((plugin) => [plugin.slug, plugin]));
  return { list: () => plugins, get: (slug) => bySlug.get(slug) };
}

export const builtInPlugins: readonly Plugin[] = [
  dropEvents,
  filterProperties,
  redactPersonalData,
  rename,
  urlParameters,
  sampleEvents(systemClock),
];

export const builtInRegistry: PluginRegistry = createRegistry(builtInPlugins);
