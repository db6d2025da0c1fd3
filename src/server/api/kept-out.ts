import type { Transaction } from 'kysely';
import type { Static } from 'typebox';
import type { Clock } from '../../base/clock.ts';
import { keptOutCountSchema, keptOutRemovalSchema, keptOutRemovedSchema } from '../../wire/contract/kept-out.ts';
import type { Database, Metadata } from '../../stores/metadata/database.ts';
import { countKeptOut, removeKeptOut } from '../../stores/metadata/kept-out-ids.ts';
import { recordChange } from '../../stores/metadata/record-change.ts';
import { actorOf } from '../http/actor.ts';
import { apiRoute, type ApiReply, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import { idempotent } from './idempotency.ts';

type Removal = Static<typeof keptOutRemovalSchema>;

interface KeptOutDeps {
  readonly db: Metadata;
  readonly clock: Clock;
}

const path = '/api/projects/:project_id/erasures/kept_out';
const tag = 'Erasures';
const write = { scope: 'erasure:write', tag } as const;

/** Routes of the ids that a project keeps out after their erasure. They never return an id. */
export function keptOutRoutes({ db, clock }: KeptOutDeps): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path,
      scope: 'erasure:read',
      tag,
      summary: 'Count the ids that are kept out',
      description: 'Only hashes of the ids are stored, so they cannot be listed.',
      responses: { 200: keptOutCountSchema },
      handler: async (request) => ({
        status: 200,
        body: { count: await countKeptOut(db, request.project().id) },
      }),
    }),
    apiRoute({
      ...write,
      method: 'DELETE',
      path,
      summary: 'Remove all ids that are kept out',
      description: 'Their events are stored again from then on. Honours Idempotency-Key.',
      responses: { 200: keptOutRemovedSchema },
      handler: idempotent(db, clock, (request, tx) => remove(tx, request, undefined, clock.now())),
    }),
    apiRoute({
      ...write,
      method: 'POST',
      path: `${path}/remove`,
      summary: 'Remove some ids that are kept out',
      description: 'Their events are stored again from then on. Honours Idempotency-Key.',
      body: keptOutRemovalSchema,
      responses: { 200: keptOutRemovedSchema },
      handler: idempotent(db, clock, (request: ApiRequest<unknown, unknown, Removal>, tx) =>
        remove(tx, request, request.body.distinct_ids, clock.now()),
      ),
    }),
  ];
}

async function remove(
  tx: Transaction<Database>,
  request: ApiRequest,
  ids: readonly string[] | undefined,
  now: number,
): Promise<ApiReply> {
  const { id: projectId, name } = request.project();
  const removed = await removeKeptOut(tx, projectId, ids);
  const count = await countKeptOut(tx, projectId);
  if (removed > 0) {
    await recordChange(tx, actorOf(request), {
      projectId,
      scope: 'Erasure',
      itemId: projectId,
      name: `Kept-out ids of ${name}`,
      activity: 'updated',
      before: { kept_out: count + removed },
      after: { kept_out: count },
      now,
    });
  }
  return { status: 200, body: { removed, count } };
}
