import { readFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { textOf } from '../plugins/packages/package-files.ts';
import { PluginPackageError } from '../plugins/plugin-package-error.ts';
import { readFolder } from '../plugins/packages/read-folder.ts';

/** A plugin that consists of one file, with the files it needs. */
interface PluginFile {
  /** Text by path; its plugin.json names the file as the entry. */
  readonly files: Readonly<Record<string, string>>;
  /** Whether there is a plugin.json next to it, which declares the settings. */
  readonly isDeclared: boolean;
}

const sourceFile = /\.[cm]?[jt]sx?$/;
const relativeImport = /(\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*['"]\.{1,2}\//;
const manifestFile = 'plugin.json';

/** Tells from its name whether a file is JavaScript or TypeScript. */
export function isSourceFile(path: string): boolean {
  return sourceFile.test(path);
}

/** Reads the file, its plugin.json, and its whole folder if it imports from there. Errors: PluginPackageError. */
export async function readPluginFile(path: string): Promise<PluginFile> {
  const files = await readBeside(path);
  const own = files[manifestFile];
  // This file is the entry, whichever one plugin.json names.
  const manifest = { ...(own === undefined ? {} : parsedManifest(own)), main: basename(path) };
  return { files: { ...files, [manifestFile]: JSON.stringify(manifest) }, isDeclared: own !== undefined };
}

/** Reads the same for an installation, which needs a name: the one in plugin.json, otherwise the file's. */
export async function readNamedPluginFile(path: string): Promise<PluginFile['files']> {
  const { files } = await readPluginFile(path);
  const manifest = { name: basename(path, extname(path)), ...parsedManifest(files[manifestFile] ?? '{}') };
  return { ...files, [manifestFile]: JSON.stringify(manifest) };
}

async function readBeside(path: string): Promise<Record<string, string>> {
  const text = textOf(readFileSync(path));
  if (text === undefined) throw new PluginPackageError('expected text in UTF-8: JavaScript or TypeScript');
  if (relativeImport.test(text)) return readFolder(dirname(path));
  const manifest = readIfThere(join(dirname(path), manifestFile));
  return { [basename(path)]: text, ...(manifest !== undefined && { [manifestFile]: manifest }) };
}

function parsedManifest(text: string): object {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Reported below.
  }
  throw new PluginPackageError(`${manifestFile}: expected a JSON object`);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
