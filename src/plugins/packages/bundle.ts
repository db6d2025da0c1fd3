import { joinMapped, type MappedText } from '../../base/inline-source-map.ts';
import { compile, type CompiledFile } from './compile.ts';
import { textOf, type PackageFiles } from './package-files.ts';
import { PluginPackageError } from '../plugin-package-error.ts';
import { scriptName } from '../sandbox/wire/script-name.ts';
import { builtinModules } from 'node:module';
import { posix } from 'node:path';

/** A script for the sandbox, and the files that it is built from, the entry first. */
export interface Bundle {
  readonly code: string;
  readonly inputs: readonly string[];
}

const codeLengthMax = 20_000_000;

/** Copies a module's exports to `exports`, where they are looked up first, before `exports.default`. */
const exportsFooter =
  'if (module.exports !== exports) Object.defineProperties(exports, Object.getOwnPropertyDescriptors(module.exports));\n';

interface LinkedFile extends CompiledFile {
  /** Imports from the same package: specifier → path. */
  readonly local: Readonly<Record<string, string>>;
}

/**
 * Builds one script from a plugin's entry and its imports from the package. Imports of other packages stay calls of
 * `require`. The entry stays at the top of the script, so that its functions are found there; a single file that needs no
 * translation stays byte for byte the same. No code becomes strict that was not. A source map comment at the end locates
 * each line, unless all lines are unmoved. Throws PluginPackageError: a sentence with file:line.
 */
export async function bundle(files: PackageFiles, entry: string): Promise<Bundle> {
  const linked = await collect(files, entry);
  const inputs = [...linked.keys()];
  const main = linked.get(entry);
  if (main === undefined) throw new PluginPackageError(`${entry}: expected this file in the package`);
  const start = inputs.length === 1 ? [] : registry(linked, entry);
  const end = main.isModule ? [{ text: exportsFooter }] : [];
  const stays = inputs.length === 1 && main.code === main.text && entry === scriptName;
  const code = stays ? main.code : joinMapped([...start, { text: main.code, map: main.map }, ...end]);
  if (code.length <= codeLengthMax) return { code, inputs };
  throw new PluginPackageError(`${entry}: expected at most ${codeLengthMax} characters of code, got ${code.length}`);
}

/** Returns the entry and every file that it imports, in order of discovery. */
async function collect(files: PackageFiles, entry: string): Promise<ReadonlyMap<string, LinkedFile>> {
  const linked = new Map<string, LinkedFile>();
  const waiting = [entry];
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (linked.has(path)) continue;
    const compiled = await compile(path, sourceOf(files, path));
    const local = localImports(files, path, compiled);
    linked.set(path, { ...compiled, local });
    waiting.push(...Object.values(local));
  }
  return linked;
}

function sourceOf(files: PackageFiles, path: string): string {
  const content = files.get(path);
  if (content === undefined) throw new PluginPackageError(`${path}: expected this file in the package`);
  const text = textOf(content)?.replace(/^\ufeff/, '');
  if (text === undefined) throw new PluginPackageError(`${path}: expected text in UTF-8`);
  return text;
}

function localImports(files: PackageFiles, path: string, { imports, text }: CompiledFile): Record<string, string> {
  const local = new Map<string, string>();
  for (const name of imports) {
    const module = resolveModule(files, path, name);
    if (module === 'external') continue;
    if (module !== undefined) local.set(name, module.file);
    // An optional dependency of a package may be missing; one of the plugin itself must not.
    else if (!path.includes('node_modules/')) throw missing(path, name, text);
  }
  return Object.fromEntries(local);
}

function missing(path: string, name: string, text: string): PluginPackageError {
  const line = text.split('\n').findIndex((each) => [`'${name}'`, `"${name}"`].some((quoted) => each.includes(quoted)));
  return new PluginPackageError(`${path}:${line === -1 ? 1 : line + 1}: "${name}" is not in the package`);
}

/** Gives the files a `require` that resolves them; each runs once, when it is first required. */
function registry(linked: ReadonlyMap<string, LinkedFile>, entry: string): MappedText[] {
  const modules = [...linked]
    .filter(([path]) => path !== entry)
    .flatMap(([path, { code, map }]) => [
      { text: `${JSON.stringify(path)}: function (exports, module, require) {\n` },
      { text: `${code}\n`, map },
      { text: '},\n' },
    ]);
  const names = Object.fromEntries([...linked].map(([path, { local }]) => [path, local]));
  const head = `var require = (function (outer) {
const names = JSON.parse(${JSON.stringify(JSON.stringify(names))});
const modules = {
`;
  const tail = `};
const loaded = Object.create(null);
function load(path) {
  if (loaded[path] !== undefined) return loaded[path].exports;
  const module = loaded[path] = { exports: {} };
  modules[path].call(module.exports, module.exports, module, requireFor(path));
  return module.exports;
}
function requireFor(path) {
  return (name) => Object.hasOwn(names[path], name) ? load(names[path][name]) : outer(name);
}
return requireFor(${JSON.stringify(entry)});
})(require);
`;
  return [{ text: head }, ...modules, { text: tail }];
}

/** Packages that the sandbox provides, or refuses by name: never taken from a package's node_modules. */
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
/** In this order, as for required code. */
const conditions = ['require', 'node', 'default', 'import'];

/**
 * Resolves an import to a file of the package; `external` means another package, `undefined` a path without a file.
 * `importer` is the path of the importing file.
 */
function resolveModule(
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

/** Finds a file with or without its extension, `x.ts` for `./x.js`, or the index of a folder. */
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

/** Returns the main entry of `exports` in a package.json. */
function chosenExport(exports: unknown, depth = 0): string | undefined {
  if (typeof exports === 'string') return exports;
  if (typeof exports !== 'object' || exports === null || depth > 5) return undefined;
  const choices = exports as Readonly<Record<string, unknown>>;
  if (Object.hasOwn(choices, '.')) return chosenExport(choices['.'], depth + 1);
  const condition = conditions.find((name) => Object.hasOwn(choices, name));
  return condition === undefined ? undefined : chosenExport(choices[condition], depth + 1);
}
