import { Type } from 'typebox';
import { ApiError } from '../contract/errors.ts';
import { pageOf, pageSchema, toPage } from '../contract/pagination.ts';
import { pluginQuerySchema, pluginSchema } from '../contract/plugins.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import type { Metadata } from '../metadata/database.ts';
import { findPluginRecord, listPluginRecords } from '../plugin-packages/plugin-records.ts';

/** Which plugins a project can use. */
export function pluginRoutes({ db }: { readonly db: Metadata }): ApiRoute[] {
  const common = { scope: 'plugin:read', tag: 'Plugins', method: 'GET' } as const;
  return [
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/plugins',
      summary: 'List plugins',
      query: pluginQuerySchema,
      responses: { 200: pageSchema(pluginSchema) },
      handler: async (request) => {
        const page = pageOf(request.query);
        const { organizationId } = request.project();
        const { count, records } = await listPluginRecords(db, organizationId, request.query, page);
        const body = toPage(request.url, request.rawQuery, page, count, records);
        return { status: 200, body };
      },
    }),
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/plugins/:id',
      summary: 'Retrieve a plugin',
      params: Type.Object({ id: Type.Integer({ description: 'Id of the plugin.' }) }),
      responses: { 200: pluginSchema },
      handler: async (request) => {
        const plugin = await findPluginRecord(db, request.params.id, request.project().organizationId);
        if (plugin === undefined) throw new ApiError('not_found', 'Not found.');
        return { status: 200, body: plugin };
      },
    }),
  ];
}
