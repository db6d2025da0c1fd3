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
/** Also the interval of checking the reader's access: a stream ends with its session. */
const heartbeatMs = 10_000;
const readyMsMax = 1000;
const skippedMs = 1000;
/** Events within this time are sent together. */
const mergeMs = 25;

export interface LiveEventDeps {
  readonly live: Pick<LiveHub, 'open'>;
  /** Default 10,000. */
  readonly heartbeatMs?: number;
}

/** Route that streams events of a project live, for browsers (EventSource) and `curl -N`. */
export function liveEventRoutes(deps: LiveEventDeps): ApiRoute[] {
  const slots = createStreamSlots({ what: 'live streams', total: streamsMax, perProject: streamsPerProjectMax });
  return [
    apiRoute({
      method: 'GET',
      path: '/api/projects/:project_id/live_events',
      scope: 'query:read',
      tag: 'Events',
      summary: 'Stream events live',
      description:
        'Streams server-sent events. `event`: an event at a stage (LiveEvent). `skipped`: number of events not shown, at most once per ' +
        'second. `end`: the last message, with the reason. A stage is reported once it is durable: waiting events are only shown as ' +
        '`received`. There is no replay. At most ' +
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
        // From the first text on nothing is missed; a process that does not answer must not block the reader.
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
  const detail = `Expected a comma-separated list of ${liveStages.join(', ')}.`;
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
  const end: LiveEnd = { reason: 'shutdown', detail: 'The service is stopping; reconnect.' };
  yield message('end', JSON.stringify(end));
}

/** Waits for news and what follows closely, or for `ms`. */
async function waitFor(news: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const late = sleep(Math.max(0, ms), true, { signal: until }).catch(() => true);
  const isLate = await Promise.race([news, late]);
  over.abort();
  if (isLate !== true) await sleep(mergeMs, undefined, { signal }).catch(() => undefined);
}

/** Without `id`, since there is no replay for clients that reconnect. */
function message(event: string, json: string): string {
  return `event: ${event}\ndata: ${json}\n\n`;
}

/** Returns why the reader must be disconnected, or `undefined`. */
async function refusalOf({ checkAgain }: Pick<ApiRequest, 'checkAgain'>): Promise<LiveEnd | undefined> {
  try {
    await checkAgain();
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return { reason: error.code, detail: error.detail };
    return { reason: 'unavailable', detail: 'Access could not be checked; reconnect.' };
  }
}
