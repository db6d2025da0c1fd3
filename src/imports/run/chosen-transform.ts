import { slowHash } from '../../base/slow-hash.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { findConfig, type StoredConfig } from '../../plugins/configs/stored-config.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import type { RunTarget, RunTransform } from './run.ts';

interface ChosenTransform {
  readonly projectId: number;
  /** Id of the config. */
  readonly id: number;
  readonly target: RunTarget;
  /** ms since the epoch. */
  readonly now: number;
}

/**
 * Returns a transformation config of the project as the transform of a run. It need not be enabled.
 * @throws ApiError if the config does not exist, or would transform the events twice
 */
export async function chosenTransform(
  db: Queries,
  { projectId, id, target, now }: ChosenTransform,
): Promise<RunTransform> {
  const config = await findConfig(db, { projectId, id, now, family: 'transformation' });
  if (config === undefined || config.deleted) {
    const detail = `Expected a transformation config of this project, got ${id}.`;
    throw new ApiError('invalid_input', detail, { attr: 'transform' });
  }
  const name = config.name || config.plugin.name;
  if (config.enabled && target.kind === 'project') {
    const detail =
      `The transformation "${name}" is enabled and would transform the events again when they are loaded. Disable it, or choose a ` +
      'config of the same plugin that is not enabled.';
    throw new ApiError('conflict', detail, { attr: 'transform' });
  }
  return { config: id, name, hash: transformHash(config) };
}

/** Hashes the code and its settings. Name, position and whether it is enabled do not count. */
export function transformHash({ plugin, settings, attachments }: StoredConfig): string {
  const { slug, version, versionId } = plugin;
  const files = attachments.map(({ key, fileName, size }) => [key, fileName, size]);
  return slowHash(canonicalJson([slug, versionId ?? version, settings, files]));
}
