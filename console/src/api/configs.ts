import type { Page } from '../../../src/wire/contract/pagination.ts';
import type { PluginConfigRecord } from '../../../src/wire/contract/plugin-configs.ts';
import { apiQuery, projectPath } from './queries.ts';

/** High enough for any project: these lists are loaded as a whole. */
export const configsMax = 1000;

const paths = {
  transformation: 'pipeline_transformation_configs',
  import_app: 'pipeline_import_apps_configs',
} as const;

export function configsPath(projectId: number, family: keyof typeof paths): string {
  return projectPath(projectId, paths[family]);
}

/** Lists the configs of a family, enabled or not; transformations in chain order. */
export function configsQuery(projectId: number, family: keyof typeof paths) {
  return apiQuery<Page<PluginConfigRecord>>(configsPath(projectId, family), { limit: configsMax });
}
