import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { filesMax, textOf } from './package-files.ts';
import { PluginPackageError } from '../plugin-package-error.ts';

/** Files used to develop a plugin that are not part of it. */
const skipped = /^(node_modules|\..*)$/;
const fileBytesMax = 10 * 1024 * 1024;
const allBytesMax = 20 * 1024 * 1024;

/** Reads the text files of a folder by relative path, as a request sends them; links are not followed. Throws PluginPackageError. */
export async function readFolder(folder: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  let bytes = 0;
  let count = 0;
  const visit = async (below: string): Promise<void> => {
    const entries = await readdir(join(folder, below), { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (skipped.test(entry.name)) continue;
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory()) await visit(path);
      if (!entry.isFile() || (await stat(join(folder, path))).size > fileBytesMax) continue;
      const text = textOf(await readFile(join(folder, path)));
      if (text === undefined) continue;
      bytes += text.length;
      count += 1;
      if (count > filesMax) throw tooMuch(folder, `${filesMax} files`);
      if (bytes > allBytesMax) throw tooMuch(folder, `${allBytesMax / 1024 / 1024} MiB of text`);
      files[path] = text;
    }
  };
  await visit('');
  return files;
}

function tooMuch(folder: string, limit: string): PluginPackageError {
  return new PluginPackageError(`${folder}: expected the folder of one plugin with at most ${limit}`);
}
