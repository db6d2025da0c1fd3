import type { ConfigEntry } from './configuration-file.ts';
import type { PresentConfig } from './target.ts';

export interface Matched {
  /** Of each entry, in its order; undefined: there is none yet. */
  readonly present: readonly (PresentConfig | undefined)[];
  /** Those that no entry is about. */
  readonly others: readonly PresentConfig[];
}

/**
 * Which config an entry is about: the one of the same plugin and name, else the one of its previous name. Of several alike the
 * first entry is about the first config, and so on. `nameOf`: of an entry, the plugin's where it has none.
 */
export function matchConfigs(
  entries: readonly ConfigEntry[],
  configs: readonly PresentConfig[],
  nameOf: (entry: ConfigEntry) => string,
): Matched {
  const free = new Set(configs);
  const take = (plugin: string, name: string | undefined): PresentConfig | undefined => {
    const found = [...free].find((config) => config.plugin === plugin && config.name === name);
    if (found !== undefined) free.delete(found);
    return found;
  };
  const byName = entries.map((entry) => take(entry.plugin, nameOf(entry)));
  // Names first: a config that has the new name already is never taken for another's old one.
  const present = entries.map((entry, index) =>
    byName[index] === undefined && entry.previous_name !== undefined
      ? take(entry.plugin, entry.previous_name)
      : byName[index],
  );
  return { present, others: [...free] };
}
