import { Type } from 'typebox';
import {
  deadLetterReplayPageSchema,
  deadLetterReplaySchema,
  replayStartSchema,
  type DeadLetterReplayRecord,
  type ReplayStart,
} from '../../wire/contract/dead-letter-replays.ts';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import { pageOf, pageQuerySchema, toPage } from '../../wire/contract/pagination.ts';
import { apiRoute, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import {
  beginReplay,
  cancelReplay,
  findReplay,
  listReplays,
  type DeadLetterReplay,
} from '../../pipeline/dead-letter-replays.ts';
import { recordReplay } from './dead-letter-activity.ts';
import { chosenDeadLetters } from './dead-letter-choice.ts';
import type { DeadLetterDeps } from './dead-letters.ts';
import { idempotent } from './idempotency.ts';

type ReplayDeps = Pick<DeadLetterDeps, 'db' | 'clock'>;

const path = '/api/projects/:project_id/dead_letters/replays';
const tag = 'Dead letters';
const read = { method: 'GET', scope: 'ingestion_warning:read', tag } as const;
const write = { method: 'POST', scope: 'ingestion_warning:write', tag } as const;
const params = Type.Object({ id: Type.String({ description: 'Id of the replay.' }) });

/** Routes of background replays of any number of dead letters, which survive a restart. */
export function deadLetterReplayRoutes(deps: ReplayDeps): ApiRoute[] {
  return [startRoute(deps), listRoute(deps), retrieveRoute(deps), cancelRoute(deps)];
}

function startRoute({ db, clock }: ReplayDeps): ApiRoute {
  return apiRoute({
    ...write,
    path,
    summary: 'Replay dead letters in the background',
    description:
      'Replays any number, oldest first: those that are open now and in no other replay. Events that become dead letters again are ' +
      'not replayed again. Honours Idempotency-Key.',
    body: replayStartSchema,
    responses: { 201: deadLetterReplaySchema },
    handler: idempotent(db, clock, async (request: ApiRequest<unknown, unknown, ReplayStart>, tx) => {
      const { body, url } = request;
      const projectId = request.project().id;
      const filter = chosenDeadLetters(body);
      const now = clock.now();
      const id = await beginReplay(tx, { projectId, filter, choice: body, now });
      const record = toReplayRecord(orNotFound(await findReplay(tx, projectId, id)));
      await recordReplay(tx, request, { activity: 'replay_started', after: record, now });
      return { status: 201, body: record, headers: { location: `${url.replace(/\/+$/, '')}/${id}/` } };
    }),
  });
}

function listRoute({ db }: ReplayDeps): ApiRoute {
  return apiRoute({
    ...read,
    path,
    summary: 'List replays of dead letters, newest first',
    query: pageQuerySchema,
    responses: { 200: deadLetterReplayPageSchema },
    handler: async (request) => {
      const page = pageOf(request.query);
      const { count, replays } = await listReplays(db, request.project().id, page);
      return { status: 200, body: toPage(request.url, request.rawQuery, page, count, replays.map(toReplayRecord)) };
    },
  });
}

function retrieveRoute({ db }: ReplayDeps): ApiRoute {
  return apiRoute({
    ...read,
    path: `${path}/:id`,
    summary: 'Retrieve the progress of a replay',
    params,
    responses: { 200: deadLetterReplaySchema },
    handler: async (request) => {
      const replay = orNotFound(await findReplay(db, request.project().id, request.params.id));
      return { status: 200, body: toReplayRecord(replay) };
    },
  });
}

function cancelRoute({ db, clock }: ReplayDeps): ApiRoute {
  return apiRoute({
    ...write,
    path: `${path}/:id/cancel`,
    summary: 'Cancel a replay',
    description: 'Dead letters that were not replayed stay open.',
    params,
    responses: { 200: deadLetterReplaySchema },
    handler: async (request) => {
      const project = request.project().id;
      const { id } = request.params;
      const now = clock.now();
      const after = await db.transaction().execute(async (tx) => {
        const before = toReplayRecord(orNotFound(await findReplay(tx, project, id)));
        const cancelled = await cancelReplay(tx, project, id, now);
        const record = toReplayRecord(orNotFound(await findReplay(tx, project, id)));
        if (cancelled) await recordReplay(tx, request, { activity: 'replay_cancelled', before, after: record, now });
        return record;
      });
      if (after.state === 'cancelled') return { status: 200, body: after };
      throw new ApiError('conflict', `Expected a replay that is queued or running, got: one that is ${after.state}.`);
    },
  });
}

function toReplayRecord(replay: DeadLetterReplay): DeadLetterReplayRecord {
  const { id, state, matched, replayed, remaining, error, createdAt, endedAt } = replay;
  // Stored by the route above.
  const { ids, filter } = replay.choice as ReplayStart;
  return {
    id,
    state,
    ids: ids?.length ?? null,
    filter: filter ?? null,
    matched,
    replayed,
    failed: replay.failures.reduce((sum, { count }) => sum + count, 0),
    remaining,
    failures: replay.failures.map((failure) => ({ ...failure, ids: [...failure.ids] })),
    error,
    created_at: createdAt,
    ended_at: endedAt,
  };
}
