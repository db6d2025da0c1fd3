import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { textOf } from '../../plugins/packages/package-files.ts';
import { readFolder } from '../../plugins/packages/read-folder.ts';
import { PluginPackageError } from '../../plugins/packages/plugin-package-error.ts';
import { preparePlugin, type PrepareDeps, type PreparedPlugin } from '../../plugins/packages/prepare-plugin.ts';
import type { PackageSource } from '../../plugins/packages/read-package.ts';
import { isField, type PluginField } from '../../plugins/fields.ts';
import type { SandboxProgram } from '../../sandbox/sandbox.ts';
import { CommandError } from '../exit-codes.ts';

/** A plugin from the disk, ready to run. */
export interface LocalPlugin {
  /** As people call it. */
  readonly name: string;
  readonly program: SandboxProgram;
  /** Undefined: there is no plugin.json, so every setting goes. */
  readonly fields: readonly PluginField[] | undefined;
  /** It changes events, not only looks on. */
  readonly isStep: boolean;
  /** Source text by path: what the program was made of. */
  readonly sources: Readonly<Record<string, string>>;
}

type Texts = Record<string, string>;

const archives = /\.(zip|tgz|tar\.gz)$/i;
const relativeImport = /(\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*['"]\.{1,2}\//;
const manifestFile = 'plugin.json';

/**
 * A file, a folder or an archive (.zip, .tgz) as a plugin, just as it would be installed. Errors: CommandError failed, with file
 * and line.
 */
export async function readPlugin(path: string, deps: PrepareDeps): Promise<LocalPlugin> {
  try {
    const { source, isDeclared } = await sourceOf(path);
    const name = basename(resolve(path)).replace(archives, '');
    return toLocal(await preparePlugin(deps, source, { name }), isDeclared);
  } catch (cause) {
    if (!(cause instanceof PluginPackageError)) throw cause;
    throw new CommandError('failed', `${path}: ${cause.message}`, { cause });
  }
}

function toLocal({ name, manifest, code, capabilities, files }: PreparedPlugin, isDeclared: boolean): LocalPlugin {
  return {
    name,
    program: { pluginName: name, code },
    fields: isDeclared ? manifest.schema.filter(isField) : undefined,
    sources: files,
    isStep: capabilities.methods.some((method) => method.startsWith('processEvent')),
  };
}

/** `isDeclared`: a plugin.json says which settings there are. */
async function sourceOf(path: string): Promise<{ readonly source: PackageSource; readonly isDeclared: boolean }> {
  if (statSync(path).isDirectory()) return typed(await readFolder(path));
  if (archives.test(path)) return { source: { kind: 'archive', bytes: readFileSync(path) }, isDeclared: true };
  const files = await readBeside(path);
  const { source, isDeclared } = typed(files);
  // Whatever plugin.json names as its entry: this file is what is to be tried.
  const manifest = isDeclared ? (parsedManifest(files[manifestFile] ?? '') ?? {}) : {};
  const main = { [manifestFile]: JSON.stringify({ ...manifest, main: basename(path) }) };
  return { source: { ...source, files: { ...source.files, ...main } }, isDeclared };
}

function typed(files: Texts) {
  return { source: { kind: 'files', files }, isDeclared: Object.hasOwn(files, manifestFile) } as const;
}

function parsedManifest(text: string): object | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Said below.
  }
  throw new PluginPackageError(`${manifestFile}: expected a JSON object`);
}

/** A file; with it its plugin.json, and everything below its folder when it imports from there. */
async function readBeside(path: string): Promise<Texts> {
  const folder = dirname(path);
  const text = textOf(readFileSync(path));
  if (text === undefined) throw new PluginPackageError('expected text in UTF-8: JavaScript or TypeScript');
  if (relativeImport.test(text)) return readFolder(folder);
  const manifest = readIfThere(join(folder, manifestFile));
  return { [basename(path)]: text, ...(manifest !== undefined && { [manifestFile]: manifest }) };
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
