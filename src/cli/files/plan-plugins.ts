import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { valid } from 'semver';
import type { PluginRecord } from '../../wire/contract/plugins.ts';
import { parseNpmName, shownAddress } from '../../plugins/plugin-address.ts';
import { readFolder } from '../../plugins/packages/read-folder.ts';
import type { ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import type { ConfigurationFile } from './configuration-file.ts';
import type { PluginPlan } from './plan.ts';

const folderForm = /^(\.{1,2})?\//;

/** Returns what is wrong with a source, if anything. */
export function sourceProblem(source: string): string | undefined {
  if (folderForm.test(source) || /^https?:\/\/./.test(source)) return undefined;
  if (/^npm:./.test(source)) return undefined;
  return 'expected a folder such as ./plugins/mine, npm:NAME@VERSION, or a URL (https://…)';
}

/**
 * Resolves a source for `packageBody`.
 *
 * @param folder base of relative paths
 */
export function sourceIn(folder: string, source: string): string {
  return folderForm.test(source) ? resolve(folder, source) : source;
}

/** Returns the plugins to install and those with a changed source. Errors: usage, when a folder cannot be read. */
export async function planPlugins(
  api: ProjectApi,
  { plugins: wanted = {} }: ConfigurationFile,
  plugins: readonly PluginRecord[],
  folder: string,
): Promise<PluginPlan[]> {
  const plans: PluginPlan[] = [];
  for (const [slug, { source }] of Object.entries(wanted)) {
    if (source === undefined) continue;
    const plugin = plugins.find((each) => each.slug === slug);
    if (plugin === undefined) plans.push({ slug, source, present: undefined });
    else if (!(await comesFrom(api, plugin, source, folder))) {
      const { id, version } = plugin;
      plans.push({ slug, source, present: { id, version, source: plugin.source_url ?? 'uploaded files' } });
    }
  }
  return plans;
}

/** Tells whether the latest version is that of the source. */
async function comesFrom(api: ProjectApi, plugin: PluginRecord, source: string, folder: string): Promise<boolean> {
  if (folderForm.test(source)) return hasFilesOf(api, plugin, resolve(folder, source));
  if (!source.startsWith('npm:')) return shownAddress(source) === plugin.source_url;
  const { name, version } = parseNpmName(source);
  // A range or a tag does not name one version: any version of the package matches.
  if (version !== undefined && valid(version) !== null) return plugin.source_url === `npm:${name}@${version}`;
  return plugin.source_url?.startsWith(`npm:${name}@`) === true;
}

async function hasFilesOf(api: ProjectApi, plugin: PluginRecord, path: string): Promise<boolean> {
  const here = await readFolder(path).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CommandError('usage', `plugin ${plugin.slug}: cannot read ${path} (${reason})`, { cause });
  });
  return isDeepStrictEqual({ ...(await sourceFiles(api, plugin)) }, here);
}

/** Returns the source files of the latest version. */
export async function sourceFiles(
  api: ProjectApi,
  { id, version }: Pick<PluginRecord, 'id' | 'version'>,
): Promise<Readonly<Record<string, string>>> {
  const path = `${api.root}/plugins/${id}/versions/${encodeURIComponent(version)}/source/`;
  return (await api.get<{ readonly files: Readonly<Record<string, string>> }>(path)).files;
}
