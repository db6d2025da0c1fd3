import type { Static } from 'typebox';
import {
  activityDetailSchema,
  activityPageSchema,
  activityParamsSchema,
  activityQuerySchema,
  type ActivityEntry,
} from '../../wire/contract/activity.ts';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import { pageOf, toPage } from '../../wire/contract/pagination.ts';
import { apiRoute, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import { allowedProjects } from '../http/auth-queries.ts';
import { getActivity, listActivity, type ActivityCursor, type ActivityFilter } from '../../stores/metadata/activity.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { nextUrl } from './next-url.ts';
import { timeFilter } from './time-filter.ts';

const path = '/api/projects/:project_id/activity_log';
const tag = 'Activity log';

/** Routes of the activity log. */
export function activityLogRoutes({ db }: { readonly db: Metadata }): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path,
      scope: 'activity_log:read',
      tag,
      summary: 'List changes',
      description:
        'Returns entries newest first: who, when, in which request, and every changed field before and after. Entries of the ' +
        'organisation (users, keys, deleted projects) are included unless the key is limited to projects. `next` uses a cursor, so ' +
        'that new entries do not shift pages; with `offset` it uses the offset.',
      query: activityQuerySchema,
      responses: { 200: activityPageSchema },
      handler: async (request) => {
        const { query } = request;
        const page = pageOf(query);
        const cursor = query.cursor === undefined ? undefined : readCursor(query.cursor);
        // One more than shown, to detect whether there is another page.
        const window = { ...page, limit: page.limit + 1, cursor };
        const { count, entries: found } = await listActivity(db, filterOf(request, query), window);
        const entries = found.slice(0, page.limit);
        const byOffset = toPage(request.url, request.rawQuery, page, count, entries);
        if (query.offset !== undefined) return { status: 200, body: byOffset };
        const last = found.length > page.limit ? entries.at(-1) : undefined;
        return { status: 200, body: { ...byOffset, next: last ? nextUrl(request, cursorOf(last)) : null } };
      },
    }),
    apiRoute({
      method: 'GET',
      path: `${path}/:id`,
      scope: 'activity_log:read',
      tag,
      summary: 'Retrieve a change with the item at that time',
      params: activityParamsSchema,
      responses: { 200: activityDetailSchema },
      handler: async (request) => ({
        status: 200,
        body: orNotFound(await getActivity(db, filterOf(request, {}), request.params.id)),
      }),
    }),
  ];
}

function filterOf(
  request: Pick<ApiRequest, 'project' | 'principal'>,
  query: Static<typeof activityQuerySchema>,
): ActivityFilter {
  const { id: projectId, organizationId } = request.project();
  return {
    projectId,
    organizationId,
    seesOrganization: allowedProjects(request.principal) === null,
    scope: query.scope,
    itemId: query.item_id,
    activity: query.activity,
    userId: query.user,
    isSystem: query.is_system,
    after: timeFilter(query.after, 'after'),
    before: timeFilter(query.before, 'before'),
  };
}

function cursorOf({ created_at, id }: ActivityEntry): string {
  return `${created_at}_${id}`;
}

const cursorForm = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)_([\w-]{1,40})$/;

function readCursor(text: string): ActivityCursor {
  const [, createdAt, id] = cursorForm.exec(text) ?? [];
  if (createdAt !== undefined && id !== undefined) return { createdAt, id };
  throw new ApiError('invalid_input', 'Expected a cursor from a `next` link.', { attr: 'cursor' });
}
