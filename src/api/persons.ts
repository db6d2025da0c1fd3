import { Type } from 'typebox';
import { ApiError } from '../contract/errors.ts';
import { pageOf, toPage } from '../contract/pagination.ts';
import { personPageSchema, personQuerySchema, personSchema } from '../contract/persons.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import type { Metadata } from '../metadata/database.ts';
import { listPersons, personByUuid, personsByDistinctIds } from '../persons/read.ts';

const common = { method: 'GET', scope: 'person:read', tag: 'persons' } as const;

/** People, as their events tell. */
export function personRoutes({ db }: { readonly db: Metadata }): ApiRoute[] {
  return [
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/persons',
      summary: 'List persons, newest first, or find the one of a distinct_id',
      query: personQuerySchema,
      responses: { 200: personPageSchema },
      handler: async (request) => {
        const project = request.project().id;
        const page = pageOf(request.query);
        const { distinct_id: distinctId } = request.query;
        const { count, persons } =
          distinctId === undefined
            ? await listPersons(db, project, page)
            : await personsOfId(db, project, distinctId, page.offset);
        return { status: 200, body: toPage(request.url, request.rawQuery, page, count, persons) };
      },
    }),
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/persons/:uuid',
      summary: 'Retrieve a person',
      params: Type.Object({ uuid: Type.String() }),
      responses: { 200: personSchema },
      handler: async (request) => {
        const person = await personByUuid(db, request.project().id, request.params.uuid.toLowerCase());
        if (person === undefined) throw new ApiError('not_found', 'Not found.');
        return { status: 200, body: person };
      },
    }),
  ];
}

async function personsOfId(db: Metadata, project: number, distinctId: string, offset: number) {
  const person = (await personsByDistinctIds(db, project, [distinctId])).get(distinctId);
  if (person === undefined) return { count: 0, persons: [] };
  return { count: 1, persons: offset === 0 ? [person] : [] };
}
