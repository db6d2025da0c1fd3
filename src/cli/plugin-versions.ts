import { familyPaths, type PluginRecord, type PluginVersionRecord } from '../wire/contract/plugins.ts';
import { listAll, type ProjectApi } from './api-options.ts';
import { CommandError } from './exit-codes.ts';
import { packageBody } from './package-body.ts';

export interface VersionWish {
  /** Instead of where the plugin came from. */
  readonly source?: string | undefined;
  readonly to?: string | undefined;
  /** Take the project's configs of the plugin along. */
  readonly configs?: boolean | undefined;
}

export interface ChangedVersion {
  readonly upgraded: PluginRecord;
  /** Ids of the configs that were taken along. */
  readonly configs: readonly number[];
}

/** Newest first. */
export function listVersions(api: ProjectApi, pluginId: number): Promise<readonly PluginVersionRecord[]> {
  return listAll(api, `${api.root}/plugins/${pluginId}/versions/`);
}

/** Gets another version of an installed plugin, and takes its configs there when wanted. Errors: CommandError. */
export async function changeVersion(api: ProjectApi, plugin: PluginRecord, wish: VersionWish): Promise<ChangedVersion> {
  const body = await bodyOf(api, plugin, wish);
  const upgraded = await api.send<PluginRecord>('PATCH', `${api.root}/plugins/${plugin.id}/`, body);
  return { upgraded, configs: wish.configs === true ? await moveConfigs(api, upgraded) : [] };
}

/** Makes the version that came before the latest one the latest. Errors: failed, where there is none. */
export async function rollBackVersion(
  api: ProjectApi,
  plugin: PluginRecord,
  wish: Pick<VersionWish, 'configs'>,
): Promise<ChangedVersion> {
  const versions = await listVersions(api, plugin.id);
  const before = versions[versions.findIndex(({ is_latest }) => is_latest) + 1];
  if (before === undefined) throw new CommandError('failed', `${plugin.slug} has no version before ${plugin.version}`);
  return changeVersion(api, plugin, { ...wish, to: before.version });
}

async function bodyOf(api: ProjectApi, plugin: PluginRecord, { source, to }: VersionWish): Promise<object> {
  if (source !== undefined) {
    const body = await packageBody(source, to === undefined ? {} : { version: to });
    if (to === undefined || 'npm' in body) return body;
    throw new CommandError('usage', `--to: ${source} is one version; only a package of the registry has several`);
  }
  if (to !== undefined && (await listVersions(api, plugin.id)).some(({ version }) => version === to)) {
    return { version: to };
  }
  const npm = /^npm:(.+)@/.exec(plugin.source_url ?? '')?.[1];
  if (npm !== undefined) return to === undefined ? { npm } : { npm, version: to };
  if (to !== undefined) {
    throw new CommandError('notFound', `${plugin.slug} has no version ${to} here; name the source that has it`);
  }
  if (plugin.source_url !== null) return { url: plugin.source_url };
  const came = plugin.is_built_in ? 'is built in' : 'was sent from a folder, a file or an archive';
  throw new CommandError('usage', `${plugin.slug} ${came}; name the source of the new version`);
}

/** Those in the bin stay as they are. */
async function moveConfigs(api: ProjectApi, { id, families, version }: PluginRecord): Promise<number[]> {
  const moved: number[] = [];
  for (const family of families) {
    const path = `${api.root}/${familyPaths[family]}/`;
    for (const config of await listAll<{ readonly id: number; readonly plugin: number }>(api, path)) {
      if (config.plugin !== id) continue;
      await api.send('POST', `${path}${config.id}/upgrade/`, { version });
      moved.push(config.id);
    }
  }
  return moved;
}
