import type { Clock } from '../../base/clock.ts';
import type { JsonObject } from '../../base/json.ts';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import { pageOf, toPage } from '../../wire/contract/pagination.ts';
import {
  sampleEventCreateSchema,
  sampleEventIdSchema,
  sampleEventPageSchema,
  sampleEventQuerySchema,
  sampleEventSchema,
  sampleEventUpdateSchema,
  type SampleEventRecord,
} from '../../wire/contract/sample-events.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { isRowId } from '../../plugins/configs/stored-plugin.ts';
import {
  countSamples,
  deleteSample,
  findSample,
  insertSample,
  listSamples,
  sampleNamed,
  updateSample,
  type SampleEvent,
} from '../../pipeline/transform/sample-events.ts';
import { readTrialEvent, TrialEventError } from '../../pipeline/transform/trial-event.ts';

export interface SampleEventDeps {
  readonly db: Metadata;
  readonly clock: Clock;
}

const path = '/api/projects/:project_id/sample_events';
const tag = 'Sample events';
const one = { path: `${path}/:id`, tag, params: sampleEventIdSchema } as const;
/** Per project. */
const samplesMax = 500;
const eventCharsMax = 1_000_000;

/** Routes of sample events that users keep to test transformations. */
export function sampleEventRoutes(deps: SampleEventDeps): ApiRoute[] {
  return [listRoute(deps), createRoute(deps), retrieveRoute(deps), updateRoute(deps), deleteRoute(deps)];
}

function listRoute({ db }: SampleEventDeps): ApiRoute {
  return apiRoute({
    method: 'GET',
    path,
    scope: 'plugin:read',
    tag,
    summary: 'List sample events by name',
    query: sampleEventQuerySchema,
    responses: { 200: sampleEventPageSchema },
    handler: async (request) => {
      const page = pageOf(request.query);
      const samples = await listSamples(db, request.project().id, request.query.search);
      const shown = samples.slice(page.offset, page.offset + page.limit).map(toRecord);
      return { status: 200, body: toPage(request.url, request.rawQuery, page, samples.length, shown) };
    },
  });
}

function createRoute({ db, clock }: SampleEventDeps): ApiRoute {
  return apiRoute({
    method: 'POST',
    path,
    scope: 'plugin:write',
    tag,
    summary: 'Create a sample event',
    description: 'Stores an event for tests of transformations, which refer to it by `sample_id`.',
    body: sampleEventCreateSchema,
    responses: { 201: sampleEventSchema },
    handler: async (request) => {
      const projectId = request.project().id;
      const event = checkedEvent(request.body.event as JsonObject, clock.now());
      const sample = await db.transaction().execute(async (tx) => {
        await refuseTaken(tx, projectId, request.body.name);
        if ((await countSamples(tx, projectId)) >= samplesMax) {
          throw new ApiError('conflict', `The project already has ${samplesMax} sample events; delete some first.`);
        }
        const { name } = request.body;
        return insertSample(tx, { projectId, name, event, createdBy: request.principal.userId, now: clock.now() });
      });
      const location = `${request.url.replace(/\/+$/, '')}/${sample.id}/`;
      return { status: 201, body: toRecord(sample), headers: { location } };
    },
  });
}

function retrieveRoute({ db }: SampleEventDeps): ApiRoute {
  return apiRoute({
    ...one,
    method: 'GET',
    scope: 'plugin:read',
    summary: 'Retrieve a sample event',
    responses: { 200: sampleEventSchema },
    handler: async ({ project, params }) => {
      const sample = isRowId(params.id) ? await findSample(db, { projectId: project().id, id: params.id }) : undefined;
      return { status: 200, body: toRecord(orNotFound(sample)) };
    },
  });
}

function updateRoute({ db, clock }: SampleEventDeps): ApiRoute {
  return apiRoute({
    ...one,
    method: 'PATCH',
    scope: 'plugin:write',
    summary: 'Update a sample event',
    body: sampleEventUpdateSchema,
    responses: { 200: sampleEventSchema },
    handler: async ({ project, params: { id }, body }) => {
      const place = { projectId: project().id, id };
      const event = body.event === undefined ? undefined : checkedEvent(body.event as JsonObject, clock.now());
      const sample = await db.transaction().execute(async (tx) => {
        if (body.name !== undefined) await refuseTaken(tx, place.projectId, body.name, id);
        return isRowId(id) ? updateSample(tx, place, { name: body.name, event, now: clock.now() }) : undefined;
      });
      return { status: 200, body: toRecord(orNotFound(sample)) };
    },
  });
}

function deleteRoute({ db }: SampleEventDeps): ApiRoute {
  return apiRoute({
    ...one,
    method: 'DELETE',
    scope: 'plugin:write',
    summary: 'Delete a sample event',
    responses: { 204: null },
    handler: async ({ project, params: { id } }) => {
      const isGone = isRowId(id) && (await deleteSample(db, { projectId: project().id, id }));
      if (!isGone) throw new ApiError('not_found', 'Not found.');
      return { status: 204 };
    },
  });
}

/** An event that a test would refuse is not stored. @throws ApiError */
function checkedEvent(event: JsonObject, now: number): JsonObject {
  if (JSON.stringify(event).length > eventCharsMax) {
    throw new ApiError('max_length', `Expected an event of at most ${eventCharsMax} characters.`, { attr: 'event' });
  }
  try {
    readTrialEvent(event, now);
    return event;
  } catch (cause) {
    if (!(cause instanceof TrialEventError)) throw cause;
    throw new ApiError('invalid_input', `${cause.message}.`, { attr: 'event', cause });
  }
}

/** @throws ApiError unique */
async function refuseTaken(db: Parameters<typeof sampleNamed>[0], projectId: number, name: string, own?: number) {
  const taken = await sampleNamed(db, projectId, name);
  if (taken === undefined || taken === own) return;
  throw new ApiError('unique', `A sample event "${name}" already exists.`, { attr: 'name' });
}

function toRecord({ id, name, event, createdBy, createdAt, updatedAt }: SampleEvent): SampleEventRecord {
  return { id, name, event, created_by: createdBy, created_at: createdAt, updated_at: updatedAt };
}
