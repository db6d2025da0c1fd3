import {
  comparedSettingsSchema,
  pluginConfigIdSchema,
  pluginSettingsSchema,
} from '../../wire/contract/plugin-configs.ts';
import { familyPaths, type Family } from '../../wire/contract/plugins.ts';
import { isoMicros } from '../../base/clock.ts';
import { hourMs } from '../../base/time.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { apiRoute, type ApiRequest, type ApiRoute, type UploadedFile } from '../http/api-route.ts';
import { countActivity } from '../../stores/metadata/activity.ts';
import { compareSettings, type ComparedSettings } from '../../plugins/configs/compare-settings.ts';
import { shownSettings } from '../../plugins/configs/config-record.ts';
import { loadFiles } from '../../plugins/configs/load-files.ts';
import { noteUse } from '../../plugins/configs/note-use.ts';
import type { Work } from '../../plugins/configs/save-changes.ts';
import { attachedKeys, type StoredConfig } from '../../plugins/configs/stored-config.ts';
import { writeSettings, type SettingsInput } from '../../plugins/configs/write-settings.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import type { JsonValue } from '../../base/json.ts';
import { changingConfig, requireConfig, type IdParams, type PluginConfigDeps } from './plugin-configs-deps.ts';

/** Maximum of comparisons per config and hour that contain a wrong secret. */
const wrongSecretsMax = 5;
const attachmentName = /^(add|remove)_attachment\[(.+)\]$/;

type SettingsRequest = ApiRequest<IdParams, unknown, Record<string, unknown>>;

/** Routes of settings, which have their own resource since `config` of the record is response-only. */
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
      description: 'Returns settings, with set secrets masked.',
      handler: async (request) => {
        const at = { projectId: request.project().id, family, id: request.params.id, now: deps.clock.now() };
        return { status: 200, body: shownSettings(await requireConfig(deps.db, at)) };
      },
    }),
    apiRoute({
      ...writing('replace'),
      method: 'PUT',
      summary: 'Replace the settings',
      description:
        'Removes omitted keys, except secrets, which keep their value. Files are uploaded as multipart/form-data.',
    }),
    apiRoute({
      ...writing('merge'),
      method: 'PATCH',
      summary: 'Change some settings',
      description: 'Keeps the values of omitted keys; "" clears a value. Files are uploaded as multipart/form-data.',
    }),
    apiRoute({
      ...common,
      method: 'POST',
      path: `${common.path}/compare`,
      // Reading does not imply trying values.
      scope: 'plugin:write',
      summary: 'Compare settings with stored ones',
      description:
        'Returns which of the given settings equal the stored ones, including secrets and files, and changes nothing. "" represents an ' +
        'unset value. Files are uploaded as multipart/form-data. At most five comparisons per config and hour may contain a wrong ' +
        'secret: each is recorded in the activity log, and further ones return 429.',
      body: pluginSettingsSchema,
      responses: { 200: comparedSettingsSchema },
      handler: changingConfig(deps, family, async (work, config, request: SettingsRequest) => {
        const input = settingsInput(request.body, request.files);
        return { status: 200, body: await compare(work, config, input) };
      }),
    }),
  ];
}

/** Prevents guessing secrets: after a few wrong values, none is compared for an hour. @throws ApiError throttled */
async function compare(work: Work, config: StoredConfig, input: SettingsInput): Promise<ComparedSettings> {
  const compared = compareSettings(config, await loadFiles(work.tx, config.id), input);
  const isSecret = (key: string): boolean =>
    config.plugin.fields.some((field) => field.key === key && field.secret === true) &&
    (Object.hasOwn(config.settings, key) || attachedKeys(config).has(key));
  if (![...compared.same, ...compared.different].some(isSecret)) return compared;
  const { projectId, tx, now } = work;
  const asked = { projectId, configId: config.id, activity: 'secret_compared', after: isoMicros(now - hourMs) };
  if ((await countActivity(tx, asked)) >= wrongSecretsMax) {
    const detail = `Secrets of config ${config.id} were compared with ${wrongSecretsMax} other values within an hour; set them instead.`;
    throw new ApiError('throttled', detail, { headers: { 'retry-after': '3600' } });
  }
  if (compared.different.some(isSecret)) await noteUse(work, [config], 'secret_compared');
  return compared;
}

/** Files under the setting's key, or named as in the existing service: `add_attachment[KEY]`, `remove_attachment[KEY]`. */
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
