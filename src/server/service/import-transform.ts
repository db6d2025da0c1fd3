/** The transform of an import run: a transformation config from the metadata store. */
import type { Clock } from '../../base/clock.ts';
import { transformHash } from '../../imports/run/chosen-transform.ts';
import type { OpenRunTransform } from '../../imports/stages/check/segment/run-transform.ts';
import { openTransform, type TransformPlace } from '../../imports/transforming/open-transform.ts';
import { TransformError } from '../../imports/transform.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import { loadFiles } from '../../plugins/configs/load-files.ts';
import { attachedKeys, findConfig } from '../../plugins/configs/stored-config.ts';
import type { StoredPlugin } from '../../plugins/configs/stored-plugin.ts';
import { createProgramLoader } from '../../plugins/packages/program-loader.ts';

export interface ImportTransformDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  /** Called when there is code to run. */
  readonly place: () => Omit<TransformPlace, 'now'>;
}

/** Opens transforms of a project. A config changed since the run was created is refused, since it would give different events. */
export function openImportTransform(deps: ImportTransformDeps, projectId: number): OpenRunTransform {
  const { db, clock, place } = deps;
  return async ({ config: id = 0, name, hash }, receivedAt) => {
    const now = clock.now();
    const config = await findConfig(db, { projectId, id, now, family: 'transformation' });
    if (config === undefined || config.deleted) {
      throw new TransformError(`expected the transformation "${name}" (config ${id}), got none: it was deleted`);
    }
    if (transformHash(config) !== hash) {
      throw new TransformError(
        `expected the transformation "${name}" (config ${id}) as it was when the run was created; its version, settings or files ` +
          'were changed since',
      );
    }
    const subject = {
      code: await codeOf(deps, config.plugin, name),
      fields: config.plugin.fields,
      settings: config.settings,
      attachments: attachedKeys(config).size === 0 ? new Map() : await loadFiles(db, id),
      configId: id,
    };
    return openTransform({ ...place(), now: () => clock.now() }, subject, { name, projectId, receivedAt });
  };
}

async function codeOf({ db }: ImportTransformDeps, { slug, versionId }: StoredPlugin, name: string) {
  const found = versionId === null ? builtInRegistry.get(slug) : await createProgramLoader(db)(versionId);
  if (found !== undefined && (!('kind' in found) || found.kind === 'transformation')) return found;
  throw new TransformError(`expected the code of the transformation "${name}", got none: its plugin was removed`);
}
