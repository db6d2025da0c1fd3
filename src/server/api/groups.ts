import { Type } from 'typebox';
import { orNotFound } from '../../wire/contract/errors.ts';
import {
  groupFindSchema,
  groupPageSchema,
  groupQuerySchema,
  groupSchema,
  groupTypeSchema,
} from '../../wire/contract/groups.ts';
import { pageOf, toPage } from '../../wire/contract/pagination.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { findGroup, listGroups, listGroupTypes } from '../../pipeline/persons/read-groups.ts';

const common = { method: 'GET', scope: 'group:read', tag: 'Groups' } as const;

/** Groups (companies, teams …), as their events tell. */
export function groupRoutes({ db }: { readonly db: Metadata }): ApiRoute[] {
  return [
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/groups',
      summary: 'List the groups of a type, by key',
      query: groupQuerySchema,
      responses: { 200: groupPageSchema },
      handler: async (request) => {
        const page = pageOf(request.query);
        const { group_type_index: typeIndex, search } = request.query;
        const { count, groups } = await listGroups(db, request.project().id, { typeIndex, search }, page);
        return { status: 200, body: toPage(request.url, request.rawQuery, page, count, groups) };
      },
    }),
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/groups/find',
      summary: 'Find a group by its key',
      query: groupFindSchema,
      responses: { 200: groupSchema },
      handler: async (request) => {
        const { group_type_index: typeIndex, group_key: key } = request.query;
        return { status: 200, body: orNotFound(await findGroup(db, request.project().id, typeIndex, key)) };
      },
    }),
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/groups_types',
      summary: 'List the group types of the project',
      responses: { 200: Type.Array(groupTypeSchema) },
      handler: async (request) => ({ status: 200, body: await listGroupTypes(db, request.project().id) }),
    }),
  ];
}
