import { joinMapped, type MappedText } from '../../base/inline-source-map.ts';
import { compile, type CompiledFile } from './compile.ts';
import { textOf, type PackageFiles } from './package-files.ts';
import { PluginPackageError } from '../plugin-package-error.ts';
import { scriptName } from '../sandbox/wire/script-name.ts';
import { resolveModule } from './resolve-module.ts';

/** One script for the sandbox, and the files that it is made of, the entry first. */
export interface Bundle {
  readonly code: string;
  readonly inputs: readonly string[];
}

const codeLengthMax = 20_000_000;

/** A module's exports go to `exports` too, where they are looked up first, `exports.default` next. */
const exportsFooter =
  'if (module.exports !== exports) Object.defineProperties(exports, Object.getOwnPropertyDescriptors(module.exports));\n';

interface LinkedFile extends CompiledFile {
  /** What it imports from the package: name as it stands there → path. */
  readonly local: Readonly<Record<string, string>>;
}

/**
 * Makes one script of a plugin's entry and what it imports from the package. Imports of other packages stay calls of
 * `require`. The entry stays at the top of the script, so that its functions can be found there; one of a single file that
 * needs no translation stays as it is, byte for byte. No code gains a strict mode that it had not. A comment at the end says where
 * each line was written, unless all are where they seem to be. Throws PluginPackageError: a sentence with file:line.
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

/** The entry and every file that it leads to, in the order in which they are met. */
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
    // A package may require what it need not have; the plugin itself may not.
    else if (!path.includes('node_modules/')) throw missing(path, name, text);
  }
  return Object.fromEntries(local);
}

function missing(path: string, name: string, text: string): PluginPackageError {
  const line = text.split('\n').findIndex((each) => [`'${name}'`, `"${name}"`].some((quoted) => each.includes(quoted)));
  return new PluginPackageError(`${path}:${line === -1 ? 1 : line + 1}: "${name}" is not in the package`);
}

/** Gives the files beside the entry a `require` that knows them, each run once, when it is first required. */
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
