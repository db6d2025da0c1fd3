import { ApiError } from '../../wire/contract/errors.ts';
import {
  importPreviewResultSchema,
  importPreviewSchema,
  type ImportPreview,
} from '../../wire/contract/import-preview.ts';
import { keptOutVersions } from '../../stores/metadata/kept-out-ids.ts';
import { apiRoute, type ApiReply, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import { planRun, sourceOf } from '../../imports/run/steering.ts';
import { trackingPlanOf } from '../../imports/run/tracking-plan-of.ts';
import { actorOf } from '../http/actor.ts';
import { choosePlugin } from '../../plugins/configs/choose-plugin.ts';
import { noteUse } from '../../plugins/configs/note-use.ts';
import { attachedKeys, type StoredConfig } from '../../plugins/configs/stored-config.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { atMost } from './at-most.ts';
import { draftSettings, usesStoredSecrets } from './draft-settings.ts';
import { previewReply, previewSignal } from './preview-answer.ts';
import { family, payloadOf, requirePlaces, runsTag, type ImportRouteDeps } from './import-runs-deps.ts';
import { requireConfig } from './plugin-configs-deps.ts';

const recordsDefault = 20;
/** Each reads a source in a separate process. */
const atOnceMax = 4;

/** Route of previews, for choosing format, names and mapping. */
export function importPreviewRoutes(deps: ImportRouteDeps): ApiRoute[] {
  const limited = atMost(atOnceMax);
  return [
    apiRoute({
      method: 'POST',
      path: '/api/projects/:project_id/import_preview',
      scope: 'plugin:write',
      tag: runsTag,
      summary: 'Preview the first records of a source as events',
      description:
        'Uses a stored config or one that is not stored yet, with format, names, choice and transform as in a run. Returns every record ' +
        'with its events, and why it is rejected or skipped. Stages, stores and sends nothing. Stored secrets are only used for the ' +
        'address that they were given for; the activity log records their use.',
      body: importPreviewSchema,
      responses: { 200: importPreviewResultSchema },
      handler: (request) => limited(() => preview(deps, request)),
    }),
  ];
}

async function preview(deps: ImportRouteDeps, request: ApiRequest<unknown, unknown, ImportPreview>): Promise<ApiReply> {
  const { preview: run } = requirePlaces(deps);
  if (run === undefined) {
    throw new ApiError('unavailable', 'This process cannot read sources; use one that runs imports.');
  }
  const { body } = request;
  const config = await draftOf(deps, request);
  const source = sourceOf(deps.registry, config);
  if (source === undefined) throw new ApiError('conflict', `"${config.plugin.name}" is not an import source.`);
  const { projectId, settings } = config;
  const now = deps.clock.now();
  const { options } = await planRun(source, { tx: deps.db, config, payload: payloadOf(body), now });
  const plan = await trackingPlanOf(deps.db, projectId, options.target, now);
  const keepsOut = options.target.kind === 'project' && (await keptOutVersions(deps.db, [projectId])).has(projectId);
  const order = { projectId, source, settings, options, plan, keepsOut };
  return previewReply(await run({ ...order, records: body.records ?? recordsDefault }, previewSignal(request)), config);
}

/** Returns the config with the changes of the request. @throws ApiError */
async function draftOf(
  { db, clock }: ImportRouteDeps,
  request: ApiRequest<unknown, unknown, ImportPreview>,
): Promise<StoredConfig> {
  const { config_id: id, plugin, settings: given = {}, format } = request.body;
  const { id: projectId, organizationId } = request.project();
  if ((id === undefined) === (plugin === undefined)) {
    throw new ApiError('required', 'Expected either "config_id" or "plugin".', { attr: 'config_id' });
  }
  const base =
    id === undefined
      ? await newConfig({ db, projectId, organizationId, now: clock.now() }, plugin ?? 0)
      : await requireConfig(db, { projectId, family, id, now: clock.now() });
  const { fields } = base.plugin;
  const stored = { settings: base.settings, attached: attachedKeys(base) };
  const draft = draftSettings(stored, fields, given as SettingValues);
  if (usesStoredSecrets(stored, fields, given as SettingValues)) {
    await noteUse({ tx: db, actor: actorOf(request), now: clock.now() }, [base], 'previewed');
  }
  // The only setting that a source may require and a run also specifies.
  return { ...base, settings: { ...draft.settings, ...(format !== undefined && { format }) } };
}

async function newConfig(
  {
    db,
    projectId,
    organizationId,
    now,
  }: Pick<ImportRouteDeps, 'db'> & { projectId: number; organizationId: string; now: number },
  pluginId: number,
): Promise<StoredConfig> {
  const plugin = await choosePlugin({ tx: db, projectId, actor: { organizationId } }, family, pluginId);
  const time = new Date(now).toISOString();
  const state = { enabled: false, deleted: false, position: 0, delivered: 0, failed: 0, error: '' };
  const texts = { name: '', description: '', createdAt: time, updatedAt: time };
  return { id: 0, projectId, family, plugin, settings: {}, attachments: [], ...state, ...texts };
}
