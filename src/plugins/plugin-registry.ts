import type { Plugin } from './plugin.ts';

/** Built-in plugins by slug. */
export interface PluginRegistry {
  list(): readonly Plugin[];
  /** Undefined: no such plugin in this program (a database may know one that a newer program brought). */
  get(slug: string): Plugin | undefined;
}

export function createRegistry(plugins: readonly Plugin[]): PluginRegistry {
  const bySlug = new Map(plugins.map((plugin) => [plugin.slug, plugin]));
  return { list: () => plugins, get: (slug) => bySlug.get(slug) };
}
