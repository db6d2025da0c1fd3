import { setTimeout } from 'node:timers/promises';
import { Type } from 'typebox';
import type { Clock } from '../../base/clock.ts';
import { importRunIdSchema } from '../../wire/contract/import-runs.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { getRun } from '../../imports/run/run-store.ts';
import type { Run } from '../../imports/run/run.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { createStreamSlots, eventStreamHeaders, eventStreamType, streamOf } from './event-stream.ts';
import { headOnly, requireRun, runsBase, runsTag, type ImportRouteDeps } from './import-runs-deps.ts';
import { toRunRecord } from '../../imports/run/run-record.ts';

const pollMs = 1_000;
const heartbeatMs = 15_000;
const streamsMax = 200;
const streamsPerProjectMax = 20;
/** Id of the last event: a client that reconnects with it has received everything. */
const finalId = 'final';

/** Route that streams the progress of a run, for browsers (EventSource) and `curl -N`. */
export function importRunProgressRoutes({ db, clock, imports }: ImportRouteDeps): ApiRoute[] {
  const slots = createStreamSlots({
    what: 'streams of progress',
    total: streamsMax,
    perProject: streamsPerProjectMax,
  });
  return [
    apiRoute({
      method: 'GET',
      path: `${runsBase}/:run/progress`,
      scope: 'plugin:read',
      tag: runsTag,
      summary: 'Stream the progress of an import run',
      description:
        'Streams server-sent events: `progress` with the record of the run, immediately and on every change. The stream ends when the ' +
        'run is completed, cancelled or failed; reconnecting with Last-Event-ID then returns 204. At most ' +
        `${streamsPerProjectMax} streams per project.`,
      params: importRunIdSchema,
      mediaTypes: ['text/event-stream'],
      responses: { 200: Type.String(), 204: null },
      handler: async (request) => {
        const projectId = request.project().id;
        const run = await requireRun(db, projectId, request.params);
        if (isFinal(run) && request.headers['last-event-id'] === finalId) return { status: 204 };
        const head = headOnly(request, eventStreamType);
        if (head !== undefined) return head;
        const release = slots.take(projectId);
        const gone = new AbortController();
        const signal = AbortSignal.any([gone.signal, ...(request.stopping === undefined ? [] : [request.stopping])]);
        const watched = { db, clock, projectId, runId: run.id, signal, pollMs: imports?.progressMs ?? pollMs };
        const body = streamOf(progressEvents(watched), () => {
          gone.abort();
          release();
        });
        return { status: 200, body, headers: eventStreamHeaders };
      },
    }),
  ];
}

interface Watched {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly projectId: number;
  readonly runId: string;
  /** Aborted when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
  readonly pollMs: number;
}

async function* progressEvents(watched: Watched): AsyncGenerator<string> {
  const { db, clock, projectId, runId, signal } = watched;
  let shown = '';
  let silentMs = 0;
  yield 'retry: 2000\n\n';
  while (!signal.aborted) {
    const run = await getRun(db, runId, { projectId });
    if (run === undefined) return;
    const state = JSON.stringify(run);
    if (state !== shown) {
      shown = state;
      silentMs = 0;
      yield eventOf(run, clock.now());
    } else if (silentMs >= heartbeatMs) {
      silentMs = 0;
      yield ': heartbeat\n\n';
    }
    if (isFinal(run)) return;
    await setTimeout(watched.pollMs, undefined, { signal }).catch(() => undefined);
    silentMs += watched.pollMs;
  }
}

function eventOf(run: Run, now: number): string {
  const id = isFinal(run) ? `id: ${finalId}\n` : '';
  return `event: progress\n${id}data: ${JSON.stringify(toRunRecord(run, now))}\n\n`;
}

function isFinal({ state }: Run): boolean {
  return state !== 'queued' && state !== 'running' && state !== 'paused';
}
