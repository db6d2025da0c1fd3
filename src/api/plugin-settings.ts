import { comparedSettingsSchema, pluginConfigIdSchema, pluginSettingsSchema } from '../contract/plugin-configs.ts';
import { familyPaths, type Family } from '../contract/plugins.ts';
import { apiRoute, type ApiRequest, type ApiRoute, type UploadedFile } from '../http/api-route.ts';
import { compareSettings } from '../plugins/configs/compare-settings.ts';
import { shownSettings } from '../plugins/configs/config-record.ts';
import { loadFiles } from '../plugins/configs/load-files.ts';
import { writeSettings, type SettingsInput } from '../plugins/configs/write-settings.ts';
import type { SettingValues } from '../plugins/fields.ts';
import type { JsonValue } from '../base/json.ts';
import { changingConfig, requireConfig, type IdParams, type PluginConfigDeps } from './plugin-configs-deps.ts';

const attachmentName = /^(add|remove)_attachment\[(.+)\]$/;

type SettingsRequest = ApiRequest<IdParams, unknown, Record<string, unknown>>;

/** Settings have a resource of their own, since `config` of the record is response only. */
export function pluginSettingsRoutes(deps: PluginConfigDeps, family: Family): ApiRoute[] {
  const common = {
    path: `/api/projects/:project_id/${familyPaths[family]}/:id/settings`,
    tag: family === 'transformation' ? 'Transformation configs' : 'Import app configs',
    params: pluginConfigIdSchema,
    responses: { 200: pluginSettingsSchema },
  };
  const writing = (mode: 'merge' | 'replace') => ({
    ...common,
    scope: 'plugin:write' as const,
    body: pluginSettingsSchema,
    handler: changingConfig(deps, family, async (work, config, request: SettingsRequest) => {
      const saved = await writeSettings(work, config, settingsInput(request.body, request.files), mode);
      return { status: 200, body: shownSettings(saved) };
    }),
  });
  return [
    apiRoute({
      ...common,
      method: 'GET',
      scope: 'plugin:read',
      summary: 'Read the settings',
      description: 'Secrets that are set show as a mask.',
      handler: async (request) => {
        const at = { projectId: request.project().id, family, id: request.params.id, now: deps.clock.now() };
        return { status: 200, body: shownSettings(await requireConfig(deps.db, at)) };
      },
    }),
    apiRoute({
      ...writing('replace'),
      method: 'PUT',
      summary: 'Replace the settings',
      description: 'Keys left out are removed; secrets left out keep their value. Files go up as multipart/form-data.',
    }),
    apiRoute({
      ...writing('merge'),
      method: 'PATCH',
      summary: 'Change some settings',
      description: 'Keys left out keep their value; "" clears. Files go up as multipart/form-data.',
    }),
    apiRoute({
      ...common,
      method: 'POST',
      path: `${common.path}/compare`,
      // Who may read may not try values.
      scope: 'plugin:write',
      summary: 'Compare settings with those stored',
      description:
        'Which of the settings given are stored just so, secrets and files included; nothing is changed. "" stands for what ' +
        'is not set. Files go up as multipart/form-data.',
      body: pluginSettingsSchema,
      responses: { 200: comparedSettingsSchema },
      handler: async (request: SettingsRequest) => {
        const at = { projectId: request.project().id, family, id: request.params.id, now: deps.clock.now() };
        const config = await requireConfig(deps.db, at);
        const input = settingsInput(request.body, request.files);
        return { status: 200, body: compareSettings(config, await loadFiles(deps.db, config.id), input) };
      },
    }),
  ];
}

/** Files under the setting's own key, or as the existing service names them: `add_attachment[KEY]`, `remove_attachment[KEY]`. */
function settingsInput(body: Record<string, unknown>, files: ReadonlyMap<string, UploadedFile>): SettingsInput {
  const values = Object.entries(body).map(([name, value]): [string, JsonValue] => {
    const [, action, key] = attachmentName.exec(name) ?? [];
    return action === 'remove' && key !== undefined ? [key, ''] : [name, value as JsonValue];
  });
  const named = [...files].map(([name, file]): [string, UploadedFile] => [
    attachmentName.exec(name)?.[2] ?? name,
    file,
  ]);
  return { values: Object.fromEntries(values) satisfies SettingValues, files: new Map(named) };
}
