import { ApiError } from '../../wire/contract/errors.ts';
import { configsPath, familyNames } from '../../wire/contract/plugin-configs.ts';
import type { Family } from '../../wire/contract/plugins.ts';
import type { Work } from './save-changes.ts';
import { findPlugin, type StoredPlugin } from './stored-plugin.ts';

/** Returns the plugin if configs of this family may use it; otherwise throws a 400 on `plugin` that names the right path. */
export async function choosePlugin(
  work: Pick<Work, 'tx' | 'projectId'> & { readonly actor: Pick<Work['actor'], 'organizationId'> },
  family: Family,
  id: number,
): Promise<StoredPlugin> {
  const plugin = await findPlugin(work.tx, id, work.actor.organizationId);
  if (plugin === undefined) {
    throw new ApiError('does_not_exist', `Invalid pk "${id}" - object does not exist.`, { attr: 'plugin' });
  }
  if (plugin.families.includes(family)) return plugin;
  const paths = plugin.families.map((right) => `${familyNames[right]}: use ${configsPath(work.projectId, right)}`);
  const where = paths.length === 0 ? 'neither an import app nor a transformation' : paths.join(', or ');
  throw new ApiError('invalid_input', `Plugin ${id} ("${plugin.name}") is ${where}`, { attr: 'plugin' });
}
