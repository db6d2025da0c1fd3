import { ApiError } from '../../wire/contract/errors.ts';
import {
  pluginConfigIdSchema,
  pluginConfigRestoreSchema,
  pluginConfigSchema,
  restorableFields,
} from '../../wire/contract/plugin-configs.ts';
import { familyPaths, type Family } from '../../wire/contract/plugins.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { toRecord } from '../../plugins/configs/config-record.ts';
import { recordAt } from '../../plugins/configs/record-at.ts';
import { restoreConfig } from '../../plugins/configs/restore-config.ts';
import { saveChange } from '../../plugins/configs/save-changes.ts';
import { changingConfig, type PluginConfigDeps } from './plugin-configs-deps.ts';

/** Route that restores an earlier state of a config; see `…/activity?at=`. */
export function pluginConfigRestoreRoutes(deps: PluginConfigDeps, family: Family): ApiRoute[] {
  return [
    apiRoute({
      method: 'POST',
      path: `/api/projects/:project_id/${familyPaths[family]}/:id/restore`,
      scope: 'plugin:write',
      tag: family === 'transformation' ? 'Transformation configs' : 'Import app configs',
      summary: 'Restore a config to an earlier state',
      description:
        'Restores settings, name, description, plugin with version, enabled and deleted, or only `fields` of these. The order is kept, ' +
        'and secrets and files keep their current value if they were set at that time. Honours Idempotency-Key.',
      params: pluginConfigIdSchema,
      body: pluginConfigRestoreSchema,
      responses: { 200: pluginConfigSchema },
      handler: changingConfig(deps, family, async (work, config, { body }) => {
        const then = await recordAt(work.tx, { projectId: work.projectId, family, id: config.id, at: body.at });
        if (then === undefined) {
          throw new ApiError('does_not_exist', `The config did not exist at ${body.at}.`, { attr: 'at' });
        }
        const after = await restoreConfig(work, config, then, new Set(body.fields ?? restorableFields));
        if (body.dry_run === true) return { status: 200, body: toRecord(after) };
        return { status: 200, body: toRecord(await saveChange(work, { before: config, after })) };
      }),
    }),
  ];
}
