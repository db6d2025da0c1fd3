import { setTimeout as sleep } from 'node:timers/promises';
import { Type } from 'typebox';
import { ApiError } from '../../wire/contract/errors.ts';
import {
  liveEventsPerSecondDefault,
  liveEventsQuerySchema,
  liveStages,
  type LiveEnd,
  type LiveEventsQuery,
  type LiveStage,
} from '../../wire/contract/live-events.ts';
import { apiRoute, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import type { LiveHub } from '../../pipeline/live/hub.ts';
import type { LiveReader } from '../../pipeline/live/reader.ts';
import type { Watch } from '../../pipeline/live/watch.ts';
import { createStreamSlots, eventStreamHeaders, eventStreamType, streamOf } from './event-stream.ts';
import { headOnly } from './import-runs-deps.ts';

const streamsMax = 100;
const streamsPerProjectMax = 10;
/** Also how often a reader is asked who it is: a session that ended ends its streams. */
const heartbeatMs = 10_000;
const readyMsMax = 1000;
const skippedMs = 1000;
/** What comes within it goes out together. */
const togetherMs = 25;

export interface LiveEventDeps {
  readonly live: Pick<LiveHub, 'open'>;
  /** Default 10 s. */
  readonly heartbeatMs?: number;
}

/** Events of a project on their way, for browsers (EventSource) and `curl -N`. */
export function liveEventRoutes(deps: LiveEventDeps): ApiRoute[] {
  const slots = createStreamSlots({ what: 'live streams', total: streamsMax, perProject: streamsPerProjectMax });
  return [
    apiRoute({
      method: 'GET',
      path: '/api/projects/:project_id/live_events',
      scope: 'query:read',
      tag: 'Events',
      summary: 'Events on their way, as they are seen',
      description:
        'Server-sent events. `event`: an event at a stage (LiveEvent). `skipped`: how many came by that are not shown, at ' +
        'most once a second. `end`: the last message, with the reason. Stages are told once an event is safely there: what ' +
        'waits shows as `received` only. Nothing is kept for those who come later. At most ' +
        `${streamsPerProjectMax} streams per project.`,
      query: liveEventsQuerySchema,
      mediaTypes: ['text/event-stream'],
      responses: { 200: Type.String() },
      handler: async (request) => {
        const head = headOnly(request, eventStreamType);
        if (head !== undefined) return head;
        const watch = watchOf(request.project().id, request.query);
        const release = slots.take(watch.projectId);
        const { reader, ready, close } = deps.live.open(watch);
        // From the first text on nothing is missed; a place that does not answer must not keep the reader waiting.
        await Promise.race([ready, sleep(readyMsMax)]);
        const gone = new AbortController();
        const body = streamOf(messages(reader, request, gone.signal, deps.heartbeatMs ?? heartbeatMs), () => {
          gone.abort();
          close();
          release();
        });
        return { status: 200, body, headers: eventStreamHeaders };
      },
    }),
  ];
}

function watchOf(projectId: number, query: LiveEventsQuery): Omit<Watch, 'id'> {
  const { event, distinct_id: distinctId, steps = false, events_per_second: perSecond } = query;
  return {
    projectId,
    stages: query.stages === undefined ? liveStages : readStages(query.stages),
    event,
    distinctId,
    steps,
    perSecond: perSecond ?? liveEventsPerSecondDefault,
  };
}

function readStages(text: string): readonly LiveStage[] {
  const words = text.split(',');
  const stages = liveStages.filter((stage) => words.includes(stage));
  if (stages.length === new Set(words).size) return stages;
  const detail = `Expected stages among ${liveStages.join(', ')}, with commas between.`;
  throw new ApiError('invalid_input', detail, { attr: 'stages' });
}

async function* messages(
  reader: LiveReader,
  request: Pick<ApiRequest, 'stopping' | 'checkAgain'>,
  gone: AbortSignal,
  heartbeatEveryMs: number,
): AsyncGenerator<string> {
  const signal = AbortSignal.any([gone, ...(request.stopping === undefined ? [] : [request.stopping])]);
  let heartbeatAt = performance.now() + heartbeatEveryMs;
  let skippedAt = performance.now() + skippedMs;
  yield 'retry: 2000\n\n: open\n\n';
  while (!signal.aborted) {
    const seen = reader.take();
    if (seen.length > 0) yield seen.map((json) => message('event', json)).join('');
    const now = performance.now();
    const skipped = now >= skippedAt ? reader.takeSkipped() : undefined;
    if (now >= skippedAt) skippedAt = now + skippedMs;
    if (skipped !== undefined) yield message('skipped', JSON.stringify(skipped));
    if (now >= heartbeatAt) {
      heartbeatAt = now + heartbeatEveryMs;
      const end = await refusalOf(request);
      if (end !== undefined) return yield message('end', JSON.stringify(end));
      yield ': heartbeat\n\n';
    }
    await waitFor(reader.news, Math.min(heartbeatAt, skippedAt) - performance.now(), signal);
  }
  const end: LiveEnd = { reason: 'shutdown', detail: 'The service stops; come again.' };
  yield message('end', JSON.stringify(end));
}

/** For news and what comes close behind it, or for so many ms. */
async function waitFor(news: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const late = sleep(Math.max(0, ms), true, { signal: until }).catch(() => true);
  const isLate = await Promise.race([news, late]);
  over.abort();
  if (isLate !== true) await sleep(togetherMs, undefined, { signal }).catch(() => undefined);
}

/** `id` would be for those who come again: nothing is kept for them. */
function message(event: string, json: string): string {
  return `event: ${event}\ndata: ${json}\n\n`;
}

/** Why the reader may not go on; undefined: it may. */
async function refusalOf({ checkAgain }: Pick<ApiRequest, 'checkAgain'>): Promise<LiveEnd | undefined> {
  try {
    await checkAgain();
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return { reason: error.code, detail: error.detail };
    return { reason: 'unavailable', detail: 'Who reads could not be checked; come again.' };
  }
}
