import { readFileSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { readFolder } from '../../plugins/packages/read-folder.ts';
import { PluginPackageError } from '../../plugins/plugin-package-error.ts';
import { preparePlugin, type PrepareDeps, type PreparedPlugin } from '../../plugins/packages/prepare-plugin.ts';
import type { PackageSource } from '../../plugins/packages/read-package.ts';
import { isField, type PluginField } from '../../plugins/fields.ts';
import type { SandboxProgram } from '../../plugins/sandbox/sandbox.ts';
import { CommandError } from '../exit-codes.ts';
import { readPluginFile } from '../read-plugin-file.ts';

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
  const { files, isDeclared } = await readPluginFile(path);
  return { source: { kind: 'files', files }, isDeclared };
}

function typed(files: Texts) {
  return { source: { kind: 'files', files }, isDeclared: Object.hasOwn(files, manifestFile) } as const;
}
