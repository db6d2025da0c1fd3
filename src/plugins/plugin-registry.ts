import type { Plugin } from './plugin.ts';

/** Built-in plugins by slug. */
export interface PluginRegistry {
  list(): readonly Plugin[];
  /** Returns `undefined` for a plugin unknown to this program (a database may contain one of a newer program). */
  get(slug: string): Plugin | undefined;
}

export function createRegistry(plugins: readonly Plugin[]): PluginRegistry {
  const bySlug = new Map(plugins.map((plugin) => [plugin.slug, plugin]));
  return { list: () => plugins, get: (slug) => bySlug.get(slug) };
}
