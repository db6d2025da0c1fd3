import { Type } from 'typebox';
import { systemClock, type Clock } from '../../base/clock.ts';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import { jobPageSchema, jobQuerySchema, jobSchema, type JobRecord } from '../../wire/contract/jobs.ts';
import { pageOf, toPage } from '../../wire/contract/pagination.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { cancelJob, retryJob } from '../../queue/jobs/change-job.ts';
import { findJob, listJobs, type JobSummary } from '../../queue/jobs/queue.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { isRowId } from '../../plugins/configs/stored-plugin.ts';
import { idempotent } from './idempotency.ts';
import { actorOf } from '../http/actor.ts';

export interface JobRouteDeps {
  readonly db: Metadata;
  /** Defaults to the system clock. */
  readonly clock?: Clock;
}

const path = '/api/projects/:project_id/jobs';
const params = Type.Object({ id: Type.String({ description: 'As `X-Job-Id` names it.' }) });

/** Routes of jobs: started, scheduled and postponed ones, and deliveries. */
export function jobRoutes({ db, clock = systemClock }: JobRouteDeps): ApiRoute[] {
  return [...readRoutes(db), ...changeRoutes(db, clock)];
}

function readRoutes(db: Metadata): ApiRoute[] {
  const common = { scope: 'plugin:read', tag: 'Jobs', method: 'GET' } as const;
  return [
    apiRoute({
      ...common,
      path,
      summary: 'List jobs',
      description: 'Newest first.',
      query: jobQuerySchema,
      responses: { 200: jobPageSchema },
      handler: async (request) => {
        const { plugin_config: configId, state, kind } = request.query;
        const page = pageOf(request.query);
        const of = { projectId: request.project().id, configId, state, kind };
        const known = configId === undefined || isRowId(configId);
        const { count, jobs } = known ? await listJobs(db, of, page) : { count: 0, jobs: [] };
        return { status: 200, body: toPage(request.url, request.rawQuery, page, count, jobs.map(toJobRecord)) };
      },
    }),
    apiRoute({
      ...common,
      path: `${path}/:id`,
      summary: 'Retrieve a job',
      params,
      responses: { 200: jobSchema },
      handler: async (request) => {
        const job = orNotFound(await findJob(db, request.project().id, request.params.id));
        return { status: 200, body: toJobRecord(job) };
      },
    }),
  ];
}

function changeRoutes(db: Metadata, clock: Clock): ApiRoute[] {
  const common = { scope: 'plugin:write', tag: 'Jobs', method: 'POST', params, responses: { 200: jobSchema } } as const;
  const change = (act: typeof retryJob): ApiRoute['handler'] =>
    idempotent(db, clock, async (request, tx) => {
      const { id } = request.params as { readonly id: string };
      const projectId = request.project().id;
      const done = await act(tx, { projectId, id, actor: actorOf(request), now: clock.now() });
      if (done.kind === 'unknown') throw new ApiError('not_found', 'Not found.');
      if (done.kind === 'refused') throw new ApiError('conflict', done.sentence);
      return { status: 200, body: toJobRecord(done.job) };
    });
  return [
    apiRoute({
      ...common,
      path: `${path}/:id/retry`,
      summary: 'Retry a failed job',
      description: 'Makes the job due immediately, with all its attempts. Honours Idempotency-Key.',
      handler: change(retryJob),
    }),
    apiRoute({
      ...common,
      path: `${path}/:id/cancel`,
      summary: 'Cancel a queued job',
      description: 'Marks the job as failed. A running job cannot be cancelled. Honours Idempotency-Key.',
      handler: change(cancelJob),
    }),
  ];
}

/** Omits the payload, which may contain data that only the job should see. */
function toJobRecord(job: JobSummary): JobRecord {
  const { startedAt, finishedAt } = job;
  const isTimed = startedAt !== null && finishedAt !== null;
  return {
    id: job.id,
    plugin_config: job.configId,
    kind: job.kind,
    type: job.type,
    operation: job.operation,
    state: job.state,
    attempts: job.attempts,
    attempts_max: job.attemptsMax,
    run_at: job.runAt,
    error: job.error,
    created_at: job.createdAt,
    started_at: startedAt,
    finished_at: finishedAt,
    // A clock that was set back must not give a negative duration.
    duration_ms: isTimed ? Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt)) : null,
  };
}
