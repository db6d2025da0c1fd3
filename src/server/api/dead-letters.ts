import { isUtf8 } from 'node:buffer';
import { Type } from 'typebox';
import type { Clock } from '../../base/clock.ts';
import type { Ingest } from '../../wire/batch/ingest.ts';
import {
  deadLetterChoiceSchema,
  deadLetterCountsQuerySchema,
  deadLetterCountsSchema,
  deadLetterPageSchema,
  deadLetterQuerySchema,
  deadLetterSchema,
  deadLetterWithOriginalSchema,
  discardResultSchema,
  replayMax,
  replayOneSchema,
  replayResultSchema,
  type DeadLetterChoice,
} from '../../wire/contract/dead-letters.ts';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import { pageOf, toPage } from '../../wire/contract/pagination.ts';
import { aboutWarning } from '../../wire/contract/warnings.ts';
import { apiRoute, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import {
  countDeadLetters,
  decideDeadLetters,
  findDeadLetter,
  groupDeadLetters,
  listDeadLetters,
  openDeadLetterIds,
  type DeadLetter,
  type DeadLetterGroup,
} from '../../pipeline/dead-letter-queries.ts';
import { prepareReplay } from '../../pipeline/prepare-replay.ts';
import type { JsonObject } from '../../base/json.ts';
import { recordDecided, recordReplayed } from './dead-letter-activity.ts';
import { chosenDeadLetters, toDeadLetterFilter, toDeadLetterRecord } from './dead-letter-choice.ts';

export interface DeadLetterDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly ingest: Ingest;
  /** Maximum size of an event in the pipeline, in bytes of JSON. */
  readonly eventBytesMax: number;
}

const path = '/api/projects/:project_id/dead_letters';
const tag = 'Dead letters';
const read = { method: 'GET', scope: 'ingestion_warning:read', tag } as const;
const write = { method: 'POST', scope: 'ingestion_warning:write', tag } as const;
const params = Type.Object({ id: Type.String() });

type ChoiceRequest = ApiRequest<unknown, unknown, DeadLetterChoice>;

/** Routes of events that could not be stored: list, replay, discard. */
export function deadLetterRoutes(deps: DeadLetterDeps): ApiRoute[] {
  return [
    listRoute(deps),
    countsRoute(deps),
    retrieveRoute(deps),
    replayRoute(deps),
    discardRoute(deps),
    replayOneRoute(deps),
  ];
}

function listRoute({ db }: DeadLetterDeps): ApiRoute {
  return apiRoute({
    ...read,
    path,
    summary: 'List dead letters, newest first',
    query: deadLetterQuerySchema,
    responses: { 200: deadLetterPageSchema },
    handler: async (request) => {
      const project = request.project().id;
      const filter = { ...toDeadLetterFilter(request.query, ''), state: request.query.state };
      const page = pageOf(request.query);
      const count = await countDeadLetters(db, project, filter);
      const rows = await listDeadLetters(db, project, filter, page);
      return { status: 200, body: toPage(request.url, request.rawQuery, page, count, rows.map(toDeadLetterRecord)) };
    },
  });
}

function countsRoute({ db }: DeadLetterDeps): ApiRoute {
  return apiRoute({
    ...read,
    path: `${path}/counts`,
    summary: 'Count dead letters by reason and event name',
    query: deadLetterCountsQuerySchema,
    responses: { 200: deadLetterCountsSchema },
    handler: async ({ query, project }) => {
      const filter = { ...toDeadLetterFilter(query, ''), state: query.state ?? 'open' };
      const groups = await groupDeadLetters(db, project().id, filter);
      const count = groups.reduce((sum, group) => sum + group.count, 0);
      return { status: 200, body: { count, results: groups.map(toCounts) } };
    },
  });
}

function toCounts({ reason, count, oldest, newest, events }: DeadLetterGroup) {
  return { reason, meaning: aboutWarning(reason).meaning, count, oldest, newest, events };
}

function retrieveRoute({ db }: DeadLetterDeps): ApiRoute {
  return apiRoute({
    ...read,
    path: `${path}/:id`,
    summary: 'Retrieve a dead letter with the original event',
    params,
    responses: { 200: deadLetterWithOriginalSchema },
    handler: async (request) => {
      const letter = orNotFound(await findDeadLetter(db, request.project().id, request.params.id));
      const bytes = Buffer.from(letter.original);
      const encoding = isUtf8(bytes) ? 'text' : 'base64';
      const original = bytes.toString(encoding === 'text' ? 'utf8' : 'base64');
      return { status: 200, body: { ...toDeadLetterRecord(letter), original, original_encoding: encoding } };
    },
  });
}

function replayRoute(deps: DeadLetterDeps): ApiRoute {
  const { db } = deps;
  return apiRoute({
    ...write,
    path: `${path}/replay`,
    summary: 'Replay open dead letters',
    description: `Replays up to ${replayMax} per call, oldest first. Each keeps its lane and its original time of arrival.`,
    body: deadLetterChoiceSchema,
    responses: { 200: replayResultSchema },
    handler: async (request) => {
      const project = request.project().id;
      const filter = chosenDeadLetters(request.body);
      const matched = await countDeadLetters(db, project, { ...filter, state: 'open' });
      // Fixed before the first one is sent, so that new dead letters are not replayed by the same call.
      const ids = await openDeadLetterIds(db, project, filter, replayMax);
      const { replayed, failed } = await replayEach(deps, request, ids);
      return { status: 200, body: { matched, replayed, failed, remaining: Math.max(0, matched - ids.length) } };
    },
  });
}

interface Replayed {
  readonly replayed: number;
  readonly failed: readonly { readonly id: string; readonly code: string; readonly detail: string }[];
}

async function replayEach(deps: DeadLetterDeps, request: ChoiceRequest, ids: readonly string[]): Promise<Replayed> {
  const { db, clock } = deps;
  const { dry_run: isDry = false, ...choice } = request.body;
  const failed: { id: string; code: string; detail: string }[] = [];
  let replayed = 0;
  try {
    for (const id of ids) {
      const letter = await findDeadLetter(db, request.project().id, id);
      if (letter === undefined || letter.state !== 'open') continue;
      const replay = prepareReplay(letter, undefined, { ...deps, requestId: request.requestId });
      if (!replay.ok) {
        failed.push({ id, code: replay.code, detail: replay.detail });
        continue;
      }
      if (!isDry) await send(deps, letter, replay.batch);
      replayed += 1;
    }
  } finally {
    // Dead letters sent before ingest refused one are replayed all the same.
    if (!isDry) await recordDecided(db, request, { activity: 'replayed', choice, count: replayed, now: clock.now() });
  }
  return { replayed, failed };
}

function discardRoute({ db, clock }: DeadLetterDeps): ApiRoute {
  return apiRoute({
    ...write,
    path: `${path}/discard`,
    summary: 'Discard open dead letters',
    description: 'Marks them as discarded; nothing is deleted.',
    body: deadLetterChoiceSchema,
    responses: { 200: discardResultSchema },
    handler: async (request) => {
      const project = request.project().id;
      const filter = chosenDeadLetters(request.body);
      const matched = await countDeadLetters(db, project, { ...filter, state: 'open' });
      const { dry_run: isDry = false, ...choice } = request.body;
      if (isDry) return { status: 200, body: { matched, discarded: 0 } };
      const now = clock.now();
      const discarded = await db.transaction().execute(async (tx) => {
        const count = await decideDeadLetters(tx, project, filter, 'discarded', now);
        await recordDecided(tx, request, { activity: 'discarded', choice, count, now });
        return count;
      });
      return { status: 200, body: { matched, discarded } };
    },
  });
}

function replayOneRoute(deps: DeadLetterDeps): ApiRoute {
  return apiRoute({
    ...write,
    path: `${path}/:id/replay`,
    summary: 'Replay a dead letter, optionally corrected',
    params,
    body: replayOneSchema,
    keepsDigits: true,
    responses: { 200: deadLetterSchema },
    handler: async (request) => {
      const project = request.project().id;
      const letter = orNotFound(await findDeadLetter(deps.db, project, request.params.id));
      if (letter.state !== 'open') {
        throw new ApiError('conflict', `Expected an open dead letter, got: one that is ${letter.state}.`);
      }
      // Sound: the body is parsed JSON.
      const edited = request.body.event as JsonObject | undefined;
      const replay = prepareReplay(letter, edited, { ...deps, requestId: request.requestId });
      if (!replay.ok) {
        const advice = edited === undefined ? '; send a corrected event in "event"' : '';
        throw new ApiError('invalid_input', `${replay.code}: ${replay.detail}${advice}`, { attr: 'event' });
      }
      await send(deps, letter, replay.batch);
      const after = toDeadLetterRecord(orNotFound(await findDeadLetter(deps.db, project, letter.id)));
      const both = { before: toDeadLetterRecord(letter), after, isCorrected: edited !== undefined };
      await recordReplayed(deps.db, request, both, deps.clock.now());
      return { status: 200, body: after };
    },
  });
}

/** Accepts first, then marks: after a crash in between, it is replayed again, which stores it once. */
async function send(
  { db, clock, ingest }: DeadLetterDeps,
  letter: DeadLetter,
  batch: Parameters<Ingest['accept']>[0],
): Promise<void> {
  await ingest.accept(batch);
  await decideDeadLetters(db, letter.project_id, { ids: [letter.id] }, 'replayed', clock.now());
}
