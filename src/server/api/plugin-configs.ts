import { Type } from 'typebox';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import { pageOf, toPage } from '../../wire/contract/pagination.ts';
import {
  configsPath,
  pluginConfigCreateSchema,
  pluginConfigIdSchema,
  pluginConfigJobSchema,
  pluginConfigListQuerySchema,
  pluginConfigPageSchema,
  pluginConfigRearrangeSchema,
  pluginConfigSchema,
  pluginConfigUpdateSchema,
  type PluginConfigRecord,
} from '../../wire/contract/plugin-configs.ts';
import { stated } from '../../wire/contract/stated.ts';
import { familyPaths, pluginFamilies, type Family } from '../../wire/contract/plugins.ts';
import { apiRoute, type ApiReply, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import { createSteering } from '../../imports/run/steering.ts';
import { startJob, type JobOrder } from '../../queue/jobs/start-job.ts';
import { createConfig } from '../../plugins/configs/create-config.ts';
import { rearrange } from '../../plugins/configs/rearrange.ts';
import { recordAt } from '../../plugins/configs/record-at.ts';
import { toRecord } from '../../plugins/configs/config-record.ts';
import { deleteConfig } from '../../plugins/configs/save-changes.ts';
import { createRenderedConfigs, type RenderedConfigs } from '../../plugins/configs/rendered-configs.ts';
import { searchConfigs } from '../../plugins/configs/search-configs.ts';
import { createConfigFinder, type FindConfig, type StoredConfig } from '../../plugins/configs/stored-config.ts';
import { createPluginReader, type ReadPlugin } from '../../plugins/configs/stored-plugin.ts';
import { allFields, updateConfig } from '../../plugins/configs/update-config.ts';
import { frontendModule } from '../../plugins/packages/versions.ts';
import { pluginConfigRestoreRoutes } from './plugin-config-restore.ts';
import { pluginConfigVersionRoutes } from './plugin-config-versions.ts';
import { frontendForm } from './plugin-configs-accept.ts';
import { changing, changingConfig, type IdParams, type PluginConfigDeps } from './plugin-configs-deps.ts';
import { pluginSettingsRoutes } from './plugin-settings.ts';

/** Module for a plugin without a front end. */
const noFrontendModule = 'export function getFrontendApp () { return {"no_frontend": true} }';

/** Declares the operations of both families. */
export function pluginConfigRoutes(given: PluginConfigDeps): ApiRoute[] {
  const readPlugin = createPluginReader();
  const deps = {
    ...given,
    readPlugin,
    findConfig: createConfigFinder(given.db, readPlugin),
    rendered: createRenderedConfigs(given.db),
  };
  const parts = [
    collectionRoutes,
    recordRoutes,
    extraRoutes,
    pluginSettingsRoutes,
    pluginConfigVersionRoutes,
    pluginConfigRestoreRoutes,
  ];
  return pluginFamilies.flatMap((family) => parts.flatMap((routes) => routes(deps, family)));
}

interface ReadingDeps extends PluginConfigDeps {
  readonly readPlugin: ReadPlugin;
  readonly findConfig: FindConfig;
  readonly rendered: RenderedConfigs;
}

const tags = {
  'import-app': 'Import app configs',
  transformation: 'Transformation configs',
} as const satisfies Record<Family, string>;
const words = {
  'import-app': 'import app config',
  transformation: 'transformation config',
} as const satisfies Record<Family, string>;
const atQuerySchema = Type.Object({
  at: Type.Optional(Type.String({ ...stated.time, description: "ISO 8601 time of the record's state." })),
});

function common(family: Family) {
  return { base: `/api/projects/:project_id/${familyPaths[family]}`, tag: tags[family], word: words[family] };
}

function collectionRoutes(deps: ReadingDeps, family: Family): ApiRoute[] {
  const { base, tag, word } = common(family);
  return [
    apiRoute({
      method: 'GET',
      path: base,
      scope: 'plugin:read',
      tag,
      summary: `List ${word}s`,
      description: 'Returns configs by order, then id. Configs in the bin are only included on request.',
      query: pluginConfigListQuerySchema,
      responses: { 200: pluginConfigPageSchema },
      isReadOften: true,
      handler: async (request) => {
        const of = { projectId: request.project().id, family, now: deps.clock.now() };
        const { search, enabled, failing, deleted, plugin: pluginId } = request.query;
        const filter = { search, enabled, failing, deleted, pluginId };
        const render = async () => {
          const page = pageOf(request.query);
          const { count, configs } = await searchConfigs(deps.db, of, filter, page, deps.readPlugin);
          return { configs, body: toPage(request.url, request.rawQuery, page, count, configs.map(toRecord)) };
        };
        // The failing configs can change without changing those of the page.
        if (failing !== undefined) return { status: 200, body: (await render()).body };
        const key = `${of.projectId} ${family} ${request.url}?${request.rawQuery}`;
        return rendered(await deps.rendered.through(key, of.now, render));
      },
    }),
    apiRoute({
      method: 'POST',
      path: base,
      scope: 'plugin:write',
      tag,
      summary: `Create ${article(word)}`,
      description:
        'Appends the config if `order` is omitted. Settings are set at …/settings: a `config` in the body is ignored, which `X-Warning` reports. Honours Idempotency-Key.',
      body: pluginConfigCreateSchema,
      responses: { 201: pluginConfigSchema },
      responseHeaders: warningHeader,
      handler: changing(deps, async (work, request) => {
        const config = await createConfig(work, family, request.body);
        const { body, headers } = changed(config, request);
        return { status: 201, body, headers: { ...headers, location: recordUrl(config, request) } };
      }),
    }),
    apiRoute({
      method: 'PATCH',
      path: `${base}/rearrange`,
      scope: 'plugin:write',
      tag,
      summary: `Rearrange ${word}s`,
      description:
        'Moves a config to the position `order`: the one with `id`, or the only one of `plugin`. Moves several with `orders`: ' +
        '{id: position}. The family is renumbered 0..n-1. Other fields are applied as an update.',
      body: pluginConfigRearrangeSchema,
      responses: { 200: pluginConfigSchema },
      responseHeaders: warningHeader,
      handler: changing(deps, async (work, request) => changed(await rearrange(work, family, request.body), request)),
    }),
  ];
}

function recordRoutes(deps: ReadingDeps, family: Family): ApiRoute[] {
  const { base, tag, word } = common(family);
  const one = { path: `${base}/:id`, tag, params: pluginConfigIdSchema, responses: { 200: pluginConfigSchema } };
  return [
    apiRoute({
      ...one,
      method: 'GET',
      scope: 'plugin:read',
      summary: `Retrieve ${article(word)}`,
      isReadOften: true,
      handler: async (request) => {
        const key = `${request.project().id} ${family} ${request.params.id}`;
        const render = async () => {
          const config = await configOf(deps, family, request);
          return { configs: [config], body: toRecord(config) };
        };
        return rendered(await deps.rendered.through(key, deps.clock.now(), render));
      },
    }),
    apiRoute({
      ...one,
      method: 'PATCH',
      scope: 'plugin:write',
      summary: `Update ${article(word)}`,
      description:
        '`deleted: true` moves the config to the bin and disables it; `deleted: false` restores it. Like all changes of a config, it ' +
        'honours If-Match with the `updated_at` that was read: `"<updated_at>"`. It is refused (412) if the config has changed since.',
      body: pluginConfigUpdateSchema,
      responseHeaders: warningHeader,
      handler: changingConfig(deps, family, async (work, config, request) =>
        changed(await updateConfig(work, config, request.body), request),
      ),
    }),
    apiRoute({
      ...one,
      method: 'PUT',
      scope: 'plugin:write',
      summary: `Replace ${article(word)}`,
      description: 'Resets omitted fields to their defaults, except position and settings.',
      body: pluginConfigCreateSchema,
      responseHeaders: warningHeader,
      handler: changingConfig(deps, family, async (work, config, request) =>
        changed(await updateConfig(work, config, allFields(request.body)), request),
      ),
    }),
    apiRoute({
      ...one,
      method: 'DELETE',
      scope: 'plugin:write',
      summary: `Delete ${article(word)}`,
      description:
        'Deletes the config permanently. Its last state is kept in the activity log. To move it to the bin, update with `deleted: true`.',
      responses: { 204: null },
      handler: changingConfig(deps, family, async (work, config) => {
        await deleteConfig(work, config);
        return { status: 204 };
      }),
    }),
  ];
}

function extraRoutes(deps: ReadingDeps, family: Family): ApiRoute[] {
  const { base, tag, word } = common(family);
  const one = { tag, params: pluginConfigIdSchema, responses: { 200: pluginConfigSchema } };
  const steer = createSteering(deps);
  return [
    apiRoute({
      ...one,
      method: 'GET',
      path: `${base}/:id/activity`,
      scope: 'plugin:read',
      summary: `Retrieve ${article(word)} at a time`,
      description: 'Returns the current record, or the one `at` a time. The Link header refers to the activity log.',
      query: atQuerySchema,
      handler: async (request) => {
        const headers = { link: `<${activityLogUrl(request)}>; rel="version-history"` };
        return { status: 200, body: await stateOf(deps, family, request), headers };
      },
    }),
    apiRoute({
      ...one,
      method: 'GET',
      path: `${base}/:id/frontend`,
      scope: 'plugin:read',
      summary: `Front end of ${article(word)}`,
      description:
        'Returns the record; with `Accept: text/javascript` a module; with `Accept: text/html` a redirect to the console page of the ' +
        'config.',
      handler: async (request) => frontend(deps, request, await configOf(deps, family, request)),
    }),
    apiRoute({
      ...one,
      method: 'POST',
      path: `${base}/:id/job`,
      scope: 'plugin:write',
      summary: `Start a job of ${article(word)}`,
      description:
        'Applies the given fields, then starts `job` or the default job of the plugin, whether or not the config is enabled. `X-Job-Id` ' +
        'contains the job; see /api/projects/:project_id/jobs. The jobs of an import source (run, check, pause, resume, cancel, ' +
        'verify) control its runs and are completed immediately; see …/runs. Honours Idempotency-Key.',
      body: pluginConfigJobSchema,
      responseHeaders: warningHeader,
      handler: changingConfig(deps, family, async (work, config, request) => {
        const { job, ...fields } = request.body;
        const started = await startJob(work, config, fields, job as JobOrder | undefined, steer);
        const { body, headers } = changed(started.config, request);
        return { status: 200, body, headers: { ...headers, 'x-job-id': started.jobId } };
      }),
    }),
  ];
}

const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' };

function rendered(json: Buffer): ApiReply {
  return { status: 200, body: json, headers: jsonHeaders };
}

function answer(config: StoredConfig): ApiReply {
  return { status: 200, body: toRecord(config) };
}

/** Response to a change requested by a client. */
function changed(config: StoredConfig, request: ApiRequest<unknown, unknown, object>): ApiReply {
  const record = toRecord(config);
  return { status: 200, body: record, headers: ignoredConfigHeaders(request.body, record, recordUrl(config, request)) };
}

function recordUrl({ projectId, family, id }: StoredConfig, { url }: Pick<ApiRequest, 'url'>): string {
  return `${serviceUrl(url)}${configsPath(projectId, family)}${id}/`;
}

async function configOf(deps: ReadingDeps, family: Family, request: ApiRequest<IdParams>): Promise<StoredConfig> {
  const at = { projectId: request.project().id, family, id: request.params.id, now: deps.clock.now() };
  return orNotFound(await deps.findConfig(at));
}

async function stateOf(
  deps: ReadingDeps,
  family: Family,
  request: ApiRequest<IdParams, { at?: string }>,
): Promise<PluginConfigRecord> {
  const { at } = request.query;
  if (at === undefined) return toRecord(await configOf(deps, family, request));
  const record = await recordAt(deps.db, { projectId: request.project().id, family, id: request.params.id, at });
  if (record === undefined) throw new ApiError('not_found', `Not found: the config did not exist at ${at}.`);
  return record;
}

function activityLogUrl(request: ApiRequest<IdParams>): string {
  const path = `/api/projects/${request.project().id}/activity_log/`;
  return `${serviceUrl(request.url)}${path}?scope=PluginConfig&item_id=${request.params.id}`;
}

async function frontend(deps: ReadingDeps, request: ApiRequest, config: StoredConfig): Promise<ApiReply> {
  const vary = { vary: 'Accept' };
  switch (frontendForm(request.headers['accept'])) {
    case 'record':
      return { ...answer(config), headers: vary };
    case 'module':
      return {
        status: 200,
        body: (await moduleOf(deps, config)) ?? noFrontendModule,
        headers: { ...vary, 'content-type': 'text/javascript; charset=utf-8' },
      };
    case 'page':
      return { status: 302, headers: { ...vary, location: `${serviceUrl(request.url)}${consolePath(config)}` } };
  }
}

/** Also a line in the table of console/src/router.tsx. */
function consolePath({ projectId, family, id }: Pick<StoredConfig, 'projectId' | 'family' | 'id'>): string {
  return `/console/projects/${projectId}/${family === 'import-app' ? 'imports' : 'transformations'}/${id}`;
}

async function moduleOf({ db }: PluginConfigDeps, { plugin }: StoredConfig): Promise<string | null> {
  return plugin.versionId === null ? null : frontendModule(db, plugin.versionId);
}

/** Address of the service as seen by the client, without a trailing slash. */
function serviceUrl(requestUrl: string): string {
  return requestUrl.slice(0, requestUrl.lastIndexOf('/api/'));
}

function article(word: string): string {
  return /^[aeiou]/.test(word) ? `an ${word}` : `a ${word}`;
}

/** Header of responses to changes of a config, for OpenAPI. */
const warningHeader = {
  'X-Warning':
    'Present if the body contained a `config` that differs from the record: the field is read-only and was ignored. Contains the address ' +
    'that takes settings.',
} as const;

/**
 * Settings have their own resource, and a record can be sent back as read: a `config` in a body changes nothing. If it differs
 * from the record, the client is warned.
 */
function ignoredConfigHeaders(body: object, record: PluginConfigRecord, recordUrl: string): Record<string, string> {
  const config = 'config' in body ? body.config : undefined;
  if (config === undefined || config === null || textOf(config) === record.config) return {};
  return { 'x-warning': `config is read-only and was ignored; PATCH the settings to ${recordUrl}settings/ instead` };
}

function textOf(config: unknown): string {
  return typeof config === 'string' ? config : JSON.stringify(config);
}
