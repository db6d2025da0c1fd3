import { Type } from 'typebox';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import { pageOf, pageQuerySchema, pageSchema, toPage } from '../../wire/contract/pagination.ts';
import {
  pluginQuerySchema,
  pluginSchema,
  pluginSourceSchema,
  pluginVersionSchema,
  type PluginRecord,
} from '../../wire/contract/plugins.ts';
import { apiRoute, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { findPluginRecord, listPluginRecords } from '../../plugins/packages/plugin-records.ts';
import { findVersion, listVersions } from '../../plugins/packages/versions.ts';
import type { IdParams } from './plugin-configs-deps.ts';
import { pluginChangeRoutes, type PluginDeps } from './plugins-change.ts';

const path = '/api/projects/:project_id/plugins';
const params = Type.Object({ id: Type.Integer({ description: 'Id of the plugin.' }) });

/** Routes of a project's plugins: list, install, upgrade. */
export function pluginRoutes(deps: PluginDeps): ApiRoute[] {
  return [...readRoutes(deps), ...versionRoutes(deps), ...pluginChangeRoutes(deps)];
}

function readRoutes({ db }: PluginDeps): ApiRoute[] {
  const common = { scope: 'plugin:read', tag: 'Plugins', method: 'GET' } as const;
  return [
    apiRoute({
      ...common,
      path,
      summary: 'List plugins',
      description: 'Returns built-in plugins and those that the organisation has installed.',
      query: pluginQuerySchema,
      responses: { 200: pageSchema(pluginSchema) },
      handler: async (request) => {
        const page = pageOf(request.query);
        const { organizationId } = request.project();
        const { count, records } = await listPluginRecords(db, organizationId, request.query, page);
        return { status: 200, body: toPage(request.url, request.rawQuery, page, count, records) };
      },
    }),
    apiRoute({
      ...common,
      path: `${path}/:id`,
      summary: 'Retrieve a plugin',
      params,
      responses: { 200: pluginSchema },
      handler: async (request) => ({ status: 200, body: await pluginOf(db, request) }),
    }),
  ];
}

function versionRoutes({ db }: PluginDeps): ApiRoute[] {
  const common = { scope: 'plugin:read', tag: 'Plugins', method: 'GET' } as const;
  return [
    apiRoute({
      ...common,
      path: `${path}/:id/versions`,
      summary: 'List versions of a plugin',
      description: 'Returns versions newest first. Built-in plugins have no versions.',
      params,
      query: pageQuerySchema,
      responses: { 200: pageSchema(pluginVersionSchema) },
      handler: async (request) => {
        const { id } = await pluginOf(db, request);
        const page = pageOf(request.query);
        const { count, versions } = await listVersions(db, { pluginId: id, projectId: request.project().id }, page);
        return { status: 200, body: toPage(request.url, request.rawQuery, page, count, versions) };
      },
    }),
    apiRoute({
      ...common,
      path: `${path}/:id/versions/:version/source`,
      summary: 'Retrieve the source of a version',
      params: Type.Object({ ...params.properties, version: Type.String({ description: 'E.g. `1.0.0`.' }) }),
      responses: { 200: pluginSourceSchema },
      handler: async (request) => {
        const { id } = await pluginOf(db, request);
        const found = await findVersion(db, id, request.params.version);
        if (found === undefined) throw new ApiError('not_found', 'Not found: the plugin has no such version.');
        return { status: 200, body: { version: found.version, files: Object.fromEntries(found.texts) } };
      },
    }),
  ];
}

/** @throws ApiError not_found */
async function pluginOf(db: Metadata, request: ApiRequest<IdParams>): Promise<PluginRecord> {
  return orNotFound(await findPluginRecord(db, request.params.id, request.project().organizationId));
}
