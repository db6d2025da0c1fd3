import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { PluginPackageError } from '../plugins/plugin-package-error.ts';
import { readFolder } from '../plugins/packages/read-folder.ts';
import { CommandError } from './exit-codes.ts';
import { isSourceFile, readNamedPluginFile } from './read-plugin-file.ts';

const pathForm = /^(\.{0,2}[/\\]|~|\.{1,2}$)|\.(zip|tgz|tar|tar\.gz|[cm]?[jt]sx?)$/;

/**
 * Returns the body of a request that installs a plugin from a URL, `npm:NAME`, or an existing folder, source file or archive; otherwise
 * from the npm package of that name. Errors: usage.
 */
export async function packageBody(source: string, more: Readonly<Record<string, string>> = {}): Promise<object> {
  if (/^https?:\/\//.test(source)) return { url: source, ...more };
  if (source.startsWith('npm:')) return { npm: source.slice(4), ...more };
  const found = await stat(source).catch(() => undefined);
  if (found?.isDirectory() === true) return { files: await textsOf(source, readFolder), ...more };
  if (found?.isFile() === true && isSourceFile(source))
    return { files: await textsOf(source, readNamedPluginFile), ...more };
  if (found?.isFile() === true) return archiveForm(source, more);
  if (!pathForm.test(source)) return { npm: source, ...more };
  throw new CommandError('usage', `expected a folder, a file or an archive, got a path that does not exist: ${source}`);
}

type Texts = Readonly<Record<string, string>>;

async function textsOf(path: string, read: (path: string) => Promise<Texts>): Promise<Texts> {
  try {
    return await read(path);
  } catch (cause) {
    if (cause instanceof PluginPackageError) throw new CommandError('usage', cause.message, { cause });
    throw new CommandError('usage', `cannot read ${path} (${(cause as Error).message})`, { cause });
  }
}

async function archiveForm(path: string, more: Readonly<Record<string, string>>): Promise<FormData> {
  const form = new FormData();
  try {
    form.set('archive', new Blob([Uint8Array.from(await readFile(path))]), basename(path));
  } catch (cause) {
    throw new CommandError('usage', `cannot read ${path} (${(cause as Error).message})`, { cause });
  }
  for (const [name, value] of Object.entries(more)) form.set(name, value);
  return form;
}
