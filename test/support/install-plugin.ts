import type { PluginRecord } from '../../src/wire/contract/plugins.ts';
import type { Metadata } from '../../src/stores/metadata/database.ts';
import type { Actor } from '../../src/stores/metadata/activity.ts';
import { beginWork } from '../../src/plugins/configs/save-changes.ts';
import { preparePlugin, type PrepareDeps } from '../../src/plugins/packages/prepare-plugin.ts';
import type { PackageSource } from '../../src/plugins/packages/read-package.ts';
import { storePlugin, storeUpdate, type OwnTexts } from '../../src/plugins/packages/store-plugin.ts';

export interface InstallDeps extends PrepareDeps {
  readonly db: Metadata;
}

export interface InstallOptions extends OwnTexts {
  readonly actor: Actor;
  /** ms since the epoch. */
  readonly now: number;
  /** Of a plugin that is there: this becomes its latest version. */
  readonly update?: number | undefined;
}

/**
 * Reads, bundles and loads a plugin, then stores it, or a new version of it. Nothing is stored when anything is wrong.
 * Throws PluginPackageError, ApiError.
 */
export async function installPlugin(
  deps: InstallDeps,
  source: PackageSource,
  { actor, now, update, ...own }: InstallOptions,
): Promise<PluginRecord> {
  const prepared = await preparePlugin(deps, source, own);
  return deps.db.transaction().execute(async (tx) => {
    const work = await beginWork({ tx, actor, now });
    return update === undefined ? storePlugin(work, prepared, own) : storeUpdate(work, update, prepared, own);
  });
}
