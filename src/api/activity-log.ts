import { activityPageSchema, activityQuerySchema } from '../contract/activity.ts';
import { pageOf, toPage } from '../contract/pagination.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import type { Metadata } from '../metadata/database.ts';
import { listActivity } from '../metadata/activity.ts';

/** Who changed what, newest first. */
export function activityLogRoutes({ db }: { readonly db: Metadata }): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/projects/:project_id/activity_log',
      scope: 'activity_log:read',
      tag: 'Activity log',
      summary: 'List changes',
      description: 'Newest first: who, when, by which request, and every changed field before and after.',
      query: activityQuerySchema,
      responses: { 200: activityPageSchema },
      handler: async (request) => {
        const { scope, item_id: itemId } = request.query;
        const page = pageOf(request.query);
        const filter = { projectId: request.project().id, scope, itemId };
        const { count, entries } = await listActivity(db, filter, page);
        return { status: 200, body: toPage(request.url, request.rawQuery, page, count, entries) };
      },
    }),
  ];
}
