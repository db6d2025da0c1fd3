import { Type, type Static } from 'typebox';
import type { Clock } from '../../base/clock.ts';
import { idsInListMax, idsPerPersonMax, limitIds } from './limit-ids.ts';
import { orNotFound } from '../../wire/contract/errors.ts';
import { pageOf, toPage } from '../../wire/contract/pagination.ts';
import { personPageSchema, personQuerySchema, personSchema, type PersonRecord } from '../../wire/contract/persons.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { createPersonCounts, type PersonCounts } from '../../pipeline/persons/person-counts.ts';
import {
  listPersons,
  personByUuid,
  personsByDistinctIds,
  personsByEmail,
  searchPersons,
} from '../../pipeline/persons/read-persons.ts';

const common = { method: 'GET', scope: 'person:read', tag: 'Persons' } as const;

/** Routes of persons. */
export function personRoutes(deps: { readonly db: Metadata; readonly clock: Clock }): ApiRoute[] {
  const { db } = deps;
  const counts = createPersonCounts(deps);
  return [
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/persons',
      summary: 'List persons, newest first, or find them by id, id prefix or email address',
      description: 'With 20,000 or more persons, `count` may be ten seconds old.',
      query: personQuerySchema,
      responses: { 200: personPageSchema },
      handler: async (request) => {
        const project = request.project().id;
        const page = pageOf(request.query);
        const { count, persons } = await personsAsked({ db, counts }, project, request.query, page);
        return {
          status: 200,
          body: toPage(
            request.url,
            request.rawQuery,
            page,
            count,
            persons.map((each) => limitIds(each, idsInListMax)),
          ),
        };
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
        return { status: 200, body: limitIds(orNotFound(person), idsPerPersonMax) };
      },
    }),
  ];
}

async function personsAsked(
  { db, counts }: { readonly db: Metadata; readonly counts: PersonCounts },
  project: number,
  { distinct_id: distinctId, email, search, is_identified: isIdentified, order }: Static<typeof personQuerySchema>,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly count: number; readonly persons: readonly PersonRecord[] }> {
  if (search !== undefined) {
    const fits = ({ distinct_ids: ids, properties, is_identified: isKnown }: PersonRecord): boolean =>
      (distinctId === undefined || ids.includes(distinctId)) &&
      (email === undefined || properties['email'] === email) &&
      (isIdentified === undefined || isKnown === isIdentified);
    const found = (await searchPersons(db, project, search)).filter(fits);
    return { count: found.length, persons: found.slice(page.offset, page.offset + page.limit) };
  }
  if (distinctId === undefined && email === undefined) {
    const persons = await listPersons(db, project, { ...page, isIdentified, oldestFirst: order === 'created_at' });
    return { count: await counts.of(project, isIdentified), persons };
  }
  const found =
    distinctId === undefined
      ? await personsByEmail(db, project, email ?? '')
      : [...(await personsByDistinctIds(db, project, [distinctId])).values()];
  const persons = found.filter(
    ({ properties, is_identified: isKnown }) =>
      (email === undefined || properties['email'] === email) &&
      (isIdentified === undefined || isKnown === isIdentified),
  );
  return { count: persons.length, persons: persons.slice(page.offset, page.offset + page.limit) };
}
