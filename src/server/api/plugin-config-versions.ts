import { Type } from 'typebox';
import { pluginConfigIdSchema, pluginConfigSchema } from '../../wire/contract/plugin-configs.ts';
import { familyPaths, type Family } from '../../wire/contract/plugins.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { rollBackConfig, upgradeConfig } from '../../plugins/configs/change-version.ts';
import { toRecord } from '../../plugins/configs/config-record.ts';
import { changingConfig, type PluginConfigDeps } from './plugin-configs-deps.ts';

const upgradeSchema = Type.Object({
  version: Type.Optional(Type.String({ maxLength: 200, description: 'A kept version. Default is the latest.' })),
});

/** Routes that change the version of a config's plugin, which otherwise stays that of its creation. */
export function pluginConfigVersionRoutes(deps: PluginConfigDeps, family: Family): ApiRoute[] {
  const base = `/api/projects/:project_id/${familyPaths[family]}/:id`;
  const common = {
    method: 'POST',
    scope: 'plugin:write',
    tag: family === 'transformation' ? 'Transformation configs' : 'Import app configs',
    params: pluginConfigIdSchema,
    responses: { 200: pluginConfigSchema },
  } as const;
  return [
    apiRoute({
      ...common,
      path: `${base}/upgrade`,
      summary: "Change the version of a config's plugin",
      description:
        'Changes to `version` or the latest. Settings that it does not have are kept aside; those that it would refuse are removed. ' +
        'Honours Idempotency-Key.',
      body: upgradeSchema,
      handler: changingConfig(deps, family, async (work, config, { body }) => ({
        status: 200,
        body: toRecord(await upgradeConfig(work, config, body.version)),
      })),
    }),
    apiRoute({
      ...common,
      path: `${base}/rollback`,
      summary: 'Revert the last change of version',
      description: 'Swaps back on a second call. Honours Idempotency-Key.',
      handler: changingConfig(deps, family, async (work, config) => ({
        status: 200,
        body: toRecord(await rollBackConfig(work, config)),
      })),
    }),
  ];
}
