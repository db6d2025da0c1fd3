import { Type } from 'typebox';
import { pluginConfigIdSchema, pluginConfigSchema } from '../../wire/contract/plugin-configs.ts';
import { familyPaths, type Family } from '../../wire/contract/plugins.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { rollBackConfig, upgradeConfig } from '../../plugins/configs/change-version.ts';
import { toRecord } from '../../plugins/configs/config-record.ts';
import { changingConfig, type PluginConfigDeps } from './plugin-configs-deps.ts';

const upgradeSchema = Type.Object({
  version: Type.Optional(Type.String({ maxLength: 200, description: 'One that is kept here. Default: the latest.' })),
});

/** A config runs the version that it was made with until it is told otherwise. */
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
      summary: 'Run another version of the plugin',
      description:
        'The one named, else the latest. Settings that it does not take are kept aside; those that it would refuse go. ' +
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
      summary: 'Run the version from before the last change of version',
      description: 'Doing it twice leads back to where it began. Honours Idempotency-Key.',
      handler: changingConfig(deps, family, async (work, config) => ({
        status: 200,
        body: toRecord(await rollBackConfig(work, config)),
      })),
    }),
  ];
}
