import { readFileSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { readFolder } from '../../plugins/packages/read-folder.ts';
import { PluginPackageError } from '../../plugins/plugin-package-error.ts';
import { preparePlugin, type PrepareDeps, type PreparedPlugin } from '../../plugins/packages/prepare-plugin.ts';
import type { PackageSource } from '../../plugins/packages/read-package.ts';
import { withEventFilter } from '../../plugins/event-filter.ts';
import { isField, type PluginField } from '../../plugins/fields.ts';
import type { SandboxProgram } from '../../plugins/sandbox/sandbox.ts';
import { CommandError } from '../exit-codes.ts';
import { readPluginFile } from '../read-plugin-file.ts';

/** A local plugin, ready to run. */
export interface LocalPlugin {
  /** Name to show. */
  readonly name: string;
  readonly program: SandboxProgram;
  /** Without a plugin.json, any setting is accepted. */
  readonly fields: readonly PluginField[] | undefined;
  /** Whether it changes events, rather than only observing them. */
  readonly isStep: boolean;
  /** Sources of the program, by path. */
  readonly sources: Readonly<Record<string, string>>;
}

type Texts = Record<string, string>;

const archives = /\.(zip|tgz|tar\.gz)$/i;
const manifestFile = 'plugin.json';

/** Reads a file, folder or archive (.zip, .tgz) as a plugin, as an installation does. Errors: failed, with file and line. */
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
    fields: isDeclared ? withEventFilter(manifest.schema).filter(isField) : undefined,
    sources: files,
    isStep: capabilities.methods.some((method) => method.startsWith('processEvent')),
  };
}

/** Returns the source, and whether a plugin.json declares the settings. */
async function sourceOf(path: string): Promise<{ readonly source: PackageSource; readonly isDeclared: boolean }> {
  if (statSync(path).isDirectory()) return typed(await readFolder(path));
  if (archives.test(path)) return { source: { kind: 'archive', bytes: readFileSync(path) }, isDeclared: true };
  const { files, isDeclared } = await readPluginFile(path);
  return { source: { kind: 'files', files }, isDeclared };
}

function typed(files: Texts) {
  return { source: { kind: 'files', files }, isDeclared: Object.hasOwn(files, manifestFile) } as const;
}
