import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import { textOf, type PackageFiles } from './package-files.ts';
import { PluginPackageError } from '../plugin-package-error.ts';

/** Packages that a sandbox provides, or refuses by name: never taken from a package's own node_modules. */
const provided: ReadonlySet<string> = new Set([
  ...builtinModules,
  '@google-cloud/bigquery',
  '@google-cloud/pubsub',
  '@google-cloud/storage',
  '@posthog/plugin-contrib',
  '@posthog/plugin-scaffold',
  'aws-sdk',
  'faker',
  'generic-pool',
  'jsonwebtoken',
  'node-fetch',
  'pg',
  'snowflake-sdk',
]);

const extensions = ['', '.ts', '.tsx', '.js', '.jsx', '.mjs', '.cjs', '.json'];
const indexes = ['/index.ts', '/index.tsx', '/index.js', '/index.jsx', '/index.mjs', '/index.cjs', '/index.json'];
/** In this order, as for code that is required. */
const conditions = ['require', 'node', 'default', 'import'];

/**
 * The file of the package that an import means; `external`: a package that is not in it; undefined: a path with nothing
 * there. `importer`: path of the importing file.
 */
export function resolveModule(
  files: PackageFiles,
  importer: string,
  specifier: string,
): { readonly file: string } | 'external' | undefined {
  if (/^\.{0,2}\//.test(specifier) || specifier === '.' || specifier === '..') {
    const path = posix.join(posix.dirname(importer), specifier);
    if (specifier.startsWith('/') || path.startsWith('..')) return undefined;
    return found(fileAt(files, path));
  }
  const [, name = specifier, below = ''] = /^((?:@[^/]+\/)?[^/]+)(\/.+)?$/.exec(specifier) ?? [];
  if (specifier.startsWith('node:') || provided.has(name) || provided.has(specifier)) return 'external';
  for (let folder = posix.dirname(importer); ; folder = posix.dirname(folder)) {
    const root = posix.join(folder, 'node_modules', name);
    const path = below === '' ? packageEntry(files, root) : fileAt(files, root + below);
    if (path !== undefined) return { file: path };
    if (folder === '.') return 'external';
  }
}

function found(file: string | undefined): { readonly file: string } | undefined {
  return file === undefined ? undefined : { file };
}

/** A file named with or without its extension, `./x.js` for `x.ts`, or the index of a folder. */
function fileAt(files: PackageFiles, path: string): string | undefined {
  const clean = posix.normalize(path).replace(/\/$/, '');
  const asTypeScript = clean.replace(/\.([cm]?)js(x?)$/, '.$1ts$2');
  const names = [...extensions.map((extension) => clean + extension), asTypeScript];
  const inFolder = indexes.map((index) => posix.normalize(clean + index));
  return [...names, ...inFolder].find((name) => files.has(name));
}

function packageEntry(files: PackageFiles, root: string): string | undefined {
  const content = files.get(`${root}/package.json`);
  const text = content === undefined ? undefined : textOf(content);
  if (text === undefined) return fileAt(files, `${root}/index`);
  const { exports, main } = parsePackage(text, `${root}/package.json`);
  const entry = chosenExport(exports) ?? (typeof main === 'string' ? main : 'index');
  return fileAt(files, `${root}/${entry}`) ?? fileAt(files, `${root}/index`);
}

function parsePackage(text: string, path: string): { readonly exports?: unknown; readonly main?: unknown } {
  try {
    return (JSON.parse(text) as object | null) ?? {};
  } catch (cause) {
    throw new PluginPackageError(`${path}: expected JSON: ${(cause as Error).message}`, { cause });
  }
}

/** What `exports` of a package.json gives for the package itself. */
function chosenExport(exports: unknown, depth = 0): string | undefined {
  if (typeof exports === 'string') return exports;
  if (typeof exports !== 'object' || exports === null || depth > 5) return undefined;
  const choices = exports as Readonly<Record<string, unknown>>;
  if (Object.hasOwn(choices, '.')) return chosenExport(choices['.'], depth + 1);
  const condition = conditions.find((name) => Object.hasOwn(choices, name));
  return condition === undefined ? undefined : chosenExport(choices[condition], depth + 1);
}
