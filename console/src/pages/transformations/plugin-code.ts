import type { PluginFiles } from './transformation-queries.ts';

const mains = ['index.ts', 'index.js', 'src/index.ts', 'src/index.js', 'dist/index.js'];

/** Returns the file to open first. */
export function mainFile(paths: readonly string[]): string {
  return mains.find((main) => paths.includes(main)) ?? paths.find((path) => /\.[jt]sx?$/.test(path)) ?? paths[0] ?? '';
}

export function languageOf(path: string): 'javascript' | 'json' {
  return path.endsWith('.json') ? 'json' : 'javascript';
}

/** Returns the files with one changed, or `undefined` if they equal the stored ones. */
export function withFile(stored: PluginFiles, shown: PluginFiles, path: string, text: string): PluginFiles | undefined {
  const changed = { ...shown, [path]: text };
  return Object.keys(changed).every((each) => changed[each] === stored[each]) ? undefined : changed;
}

/** Returns the source of newer versions of a plugin, or `undefined` if it was written in the console or uploaded. */
export function newerSource({
  source_kind: kind,
  source_url: url,
}: {
  readonly source_kind: string | null;
  readonly source_url: string | null;
}): { readonly npm: string } | { readonly url: string } | undefined {
  if (url === null) return undefined;
  if (kind !== 'npm') return { url };
  const name = /^npm:(@?[^@]+)/.exec(url)?.[1];
  return name === undefined ? undefined : { npm: name };
}
