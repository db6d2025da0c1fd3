import type { Transaction } from 'kysely';
import { Type } from 'typebox';
import type { Clock } from '../../base/clock.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import {
  pluginInstallSchema,
  pluginSchema,
  pluginUpdateSchema,
  type PluginInstall,
} from '../../wire/contract/plugins.ts';
import { apiRoute, type ApiReply, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import type { Database, Metadata } from '../../stores/metadata/database.ts';
import { beginWork } from '../../plugins/configs/save-changes.ts';
import { PluginPackageError } from '../../plugins/plugin-package-error.ts';
import { preparePlugin, type PreparedPlugin, type PrepareDeps } from '../../plugins/packages/prepare-plugin.ts';
import type { PackageSource } from '../../plugins/packages/read-package.ts';
import {
  deletePlugin,
  renamePlugin,
  storePlugin,
  storeUpdate,
  switchVersion,
  type PluginWork,
} from '../../plugins/packages/store-plugin.ts';
import { idempotent, idempotentAfter } from './idempotency.ts';
import { actorOf } from '../http/actor.ts';
import type { IdParams } from './plugin-configs-deps.ts';

const path = '/api/projects/:project_id/plugins';
const params = Type.Object({ id: Type.Integer({ description: 'Id of the plugin.' }) });
const common = { scope: 'plugin:write', tag: 'Plugins' } as const;
const ways =
  'Accepts JSON with `files`, `url` or `npm`, or multipart/form-data with a file `archive` (.zip, .tgz). Several files and imports ' +
  'between them are bundled. ';

export interface PluginDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  /** Dependencies of installing: sources of packages and the sandbox that tests them. */
  readonly packages: PrepareDeps;
}

type InstallRequest = ApiRequest<unknown, unknown, PluginInstall>;
type UpdateRequest = ApiRequest<IdParams, unknown, PluginInstall>;

/** Routes that install, update and remove plugins. A plugin belongs to the organisation: all of its projects can use it. */
export function pluginChangeRoutes(deps: PluginDeps): ApiRoute[] {
  const prepare = createPreparing(deps);
  return [installRoute(deps, prepare), updateRoute(deps, prepare), deleteRoute(deps)];
}

function installRoute(deps: PluginDeps, prepare: Prepare): ApiRoute {
  const store = async (request: InstallRequest, tx: Transaction<Database>, prepared: PreparedPlugin | undefined) => {
    if (prepared === undefined) throw nothingGiven();
    const record = await storePlugin(await workOf(deps, request, tx), prepared, request.body);
    const location = `${request.url.replace(/\/+$/, '')}/${record.id}/`;
    return { status: 201, body: record, headers: { location } };
  };
  return apiRoute({
    ...common,
    method: 'POST',
    path,
    summary: 'Install a plugin',
    description: `${ways}A plugin that cannot be loaded is not stored. Honours Idempotency-Key.`,
    body: pluginInstallSchema,
    responses: { 201: pluginSchema },
    handler: idempotentAfter(deps.db, deps.clock, prepare, store),
  });
}

function updateRoute(deps: PluginDeps, prepare: Prepare): ApiRoute {
  const store = async (
    request: UpdateRequest,
    tx: Transaction<Database>,
    prepared: PreparedPlugin | undefined,
  ): Promise<ApiReply> => {
    const work = await workOf(deps, request, tx);
    const { id } = request.params;
    const { version } = request.body;
    await requireProjectsOf(tx, request, id);
    if (prepared !== undefined) return done(await storeUpdate(work, id, prepared, request.body));
    if (version !== undefined) return done(await switchVersion(work, id, version, request.body));
    return done(await renamePlugin(work, id, request.body));
  };
  return apiRoute({
    ...common,
    method: 'PATCH',
    path: `${path}/:id`,
    summary: 'Update a plugin',
    description:
      `${ways}The code is kept as a new version and becomes the latest. With only \`version\`, a kept version becomes the latest. ` +
      'Configs keep their version until they are upgraded. A key limited to projects may only change plugins that no other project ' +
      'uses. Honours Idempotency-Key.',
    params,
    body: pluginUpdateSchema,
    responses: { 200: pluginSchema },
    handler: idempotentAfter(deps.db, deps.clock, prepare, store),
  });
}

function deleteRoute(deps: PluginDeps): ApiRoute {
  return apiRoute({
    ...common,
    method: 'DELETE',
    path: `${path}/:id`,
    summary: 'Remove a plugin',
    description: 'Deletes the plugin with all its versions. Refused while a config uses it, and for built-in plugins.',
    params,
    responses: { 204: null },
    handler: idempotent(deps.db, deps.clock, async (request: ApiRequest<IdParams>, tx) => {
      await requireProjectsOf(tx, request, request.params.id);
      await deletePlugin(await workOf(deps, request, tx), request.params.id, request.project().id);
      return { status: 204 };
    }),
  });
}

/** A plugin belongs to the organisation: a change affects every project that uses it. @throws ApiError permission_denied */
async function requireProjectsOf(
  tx: Transaction<Database>,
  { principal }: Pick<ApiRequest, 'principal'>,
  id: number,
): Promise<void> {
  if (principal.kind !== 'key' || principal.projectIds === null) return;
  const rows = await tx
    .selectFrom('plugin_configs')
    .select('project_id')
    .distinct()
    .where('plugin_id', '=', id)
    .orderBy('project_id')
    .execute();
  const others = rows.map((row) => row.project_id).filter((project) => !principal.projectIds?.includes(project));
  if (others.length === 0) return;
  const detail =
    `This key must not change the plugin: projects ${others.slice(0, 20).join(', ')} use it, configs in the bin included, ` +
    'and the key is limited to others. Use a key that may access them, or install another plugin.';
  throw new ApiError('permission_denied', detail);
}

function done(body: unknown): ApiReply {
  return { status: 200, body };
}

function workOf({ clock }: PluginDeps, request: ApiRequest, tx: Transaction<Database>): Promise<PluginWork> {
  return beginWork({ tx, actor: actorOf(request), now: clock.now() });
}

/** Returns `undefined` if the request contains no plugin. @throws ApiError */
type Prepare = (request: InstallRequest) => Promise<PreparedPlugin | undefined>;

/** Each may take some 100 MB while it is unpacked and bundled. */
const atOnceMax = 4;

function createPreparing({ packages }: PluginDeps): Prepare {
  let underWay = 0;
  return async (request) => {
    const source = sourceOf(request);
    if (source === undefined) return undefined;
    if (underWay >= atOnceMax) {
      const detail = `${atOnceMax} plugins are being installed. Retry when one is done.`;
      throw new ApiError('unavailable', detail, { headers: { 'retry-after': '5' } });
    }
    underWay += 1;
    try {
      return await preparePlugin(packages, source, request.body);
    } catch (error) {
      if (!(error instanceof PluginPackageError)) throw error;
      throw new ApiError('invalid_input', error.message, { attr: error.attr, cause: error });
    } finally {
      underWay -= 1;
    }
  };
}

function sourceOf({ body, files }: InstallRequest): PackageSource | undefined {
  const archive = files.get('archive');
  const sources: PackageSource[] = [];
  if (archive !== undefined) sources.push({ kind: 'archive', bytes: archive.content });
  if (body.files !== undefined) sources.push({ kind: 'files', files: body.files });
  if (body.npm !== undefined) sources.push({ kind: 'npm', npm: body.npm, version: body.version });
  if (body.url !== undefined) sources.push({ kind: 'url', url: body.url });
  if (sources.length > 1)
    throw new ApiError('invalid_input', 'Expected one of "files", "url", "npm" and "archive", got several.');
  const [source] = sources;
  if (source !== undefined || files.size === 0) return source;
  throw new ApiError(
    'invalid_input',
    `Expected the archive in a field "archive", got: ${[...files.keys()].join(', ')}.`,
  );
}

function nothingGiven(): ApiError {
  const detail = 'Expected "files", "url" or "npm", or a multipart/form-data body with a file "archive".';
  return new ApiError('required', detail, { attr: 'files' });
}
