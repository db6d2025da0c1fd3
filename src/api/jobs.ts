import { Type } from 'typebox';
import { ApiError } from '../contract/errors.ts';
import { jobPageSchema, jobQuerySchema, jobSchema, type JobRecord } from '../contract/jobs.ts';
import { pageOf, toPage } from '../contract/pagination.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { findJob, listJobs, type Job } from '../jobs/queue.ts';
import type { Metadata } from '../metadata/database.ts';
import { isRowId } from '../plugin-configs/stored-config.ts';

/** What became of the jobs that were started. */
export function jobRoutes({ db }: { readonly db: Metadata }): ApiRoute[] {
  const common = { scope: 'plugin:read', tag: 'Jobs', method: 'GET' } as const;
  return [
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/jobs',
      summary: 'List jobs',
      description: 'Newest first.',
      query: jobQuerySchema,
      responses: { 200: jobPageSchema },
      handler: async (request) => {
        const { plugin_config: configId, state } = request.query;
        const page = pageOf(request.query);
        const of = { projectId: request.project().id, configId, state };
        const known = configId === undefined || isRowId(configId);
        const { count, jobs } = known ? await listJobs(db, of, page) : { count: 0, jobs: [] };
        return { status: 200, body: toPage(request.url, request.rawQuery, page, count, jobs.map(toJobRecord)) };
      },
    }),
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/jobs/:id',
      summary: 'Retrieve a job',
      params: Type.Object({ id: Type.String({ description: 'As `X-Job-Id` names it.' }) }),
      responses: { 200: jobSchema },
      handler: async (request) => {
        const job = await findJob(db, request.project().id, request.params.id);
        if (job === undefined) throw new ApiError('not_found', 'Not found.');
        return { status: 200, body: toJobRecord(job) };
      },
    }),
  ];
}

/** The payload stays inside: it may hold what only the job should see. */
function toJobRecord(job: Job): JobRecord {
  return {
    id: job.id,
    plugin_config: job.configId,
    type: job.type,
    operation: job.operation,
    state: job.state,
    attempts: job.attempts,
    run_at: job.runAt,
    error: job.error,
    created_at: job.createdAt,
    finished_at: job.finishedAt,
  };
}
