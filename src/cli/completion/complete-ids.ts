import type { ImportRunRecord } from '../../wire/contract/import-runs.ts';
import type { ProjectRecord } from '../../wire/contract/projects.ts';
import { listAll, listUpTo, projectApi, type ServiceOptions } from '../api-options.ts';
import type { CommandProcess } from '../command-process.ts';
import { listConfigs } from '../configs/find-config.ts';
import { readProfiles } from '../profiles/profiles.ts';
import type { IdKind } from './id-kinds.ts';

/** An id, and what it is of. */
export interface KnownId {
  readonly id: string;
  readonly label: string;
}

export interface CompleteOptions extends ServiceOptions {
  /** Of which config the runs are; absent: of all in the project. */
  readonly config?: string;
}

const runsMax = 50;

/** Ids that may stand in a place of the command line. Errors: those of the service. */
export async function completeIds(
  kind: IdKind,
  options: CompleteOptions,
  process: Pick<CommandProcess, 'env'>,
): Promise<readonly KnownId[]> {
  if (kind === 'profiles') {
    return Object.entries(readProfiles(process).profiles).map(([id, { url }]) => ({ id, label: url }));
  }
  const api = projectApi(options);
  if (kind === 'projects') {
    const projects = await listAll<ProjectRecord>(api, '/api/projects/');
    return projects.map(({ id, name }) => ({ id: String(id), label: name }));
  }
  if (kind === 'configs') {
    const configs = await listConfigs(api, { ...options }, {});
    return configs.map(({ id, name }) => ({ id: String(id), label: name }));
  }
  const runs = await listUpTo<ImportRunRecord>(api, `${api.root}/import_runs/`, {}, runsMax);
  return runs
    .filter(({ plugin_config: config }) => options.config === undefined || String(config) === options.config)
    .map(({ id, state, created_at: at }) => ({ id, label: `${state}, ${at}` }));
}
