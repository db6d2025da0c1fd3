import type { TextFiles } from './manifest.ts';

const fileLengthMax = 1_000_000;
const allLengthMax = 4_000_000;
/** Read again later, so they are always kept. */
const manifests = ['plugin.json', 'package.json'];
const clutter = /(^|\/)(node_modules|\.[^/]+)\/|(^|\/)(\.[^/]+|package-lock\.json|yarn\.lock|pnpm-lock\.yaml)$/;

/**
 * The source text that is kept with a version, to be shown and edited: what says what the plugin is, then what it was made
 * of (`inputs`), then the rest as far as it is small. Sorted by path.
 */
export function keptFiles(texts: TextFiles, inputs: readonly string[]): Record<string, string> {
  const others = [...texts.keys()].filter((path) => !clutter.test(path)).sort((a, b) => lengthOf(a) - lengthOf(b));
  const kept = new Map<string, string>();
  let charsLeft = allLengthMax;
  function lengthOf(path: string): number {
    return texts.get(path)?.length ?? 0;
  }
  for (const path of new Set([...manifests, ...inputs, ...others])) {
    const text = texts.get(path);
    const always = manifests.includes(path);
    if (text === undefined || (!always && (text.length > fileLengthMax || text.length > charsLeft))) continue;
    charsLeft -= text.length;
    kept.set(path, text);
  }
  return Object.fromEntries([...kept].sort(([a], [b]) => (a < b ? -1 : 1)));
}
