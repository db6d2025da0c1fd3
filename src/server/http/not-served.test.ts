import { expect, it } from 'vitest';
import { startTestApp } from '../../../test/support/app.ts';
import { insteadOf } from './server.ts';

it.each([
  ['POST', '/api/projects/1/query/', 'Read events with GET /api/projects/:project_id/events/'],
  ['GET', '/api/environments/@current/insights/trend/?x=/api/a', 'Charts are made elsewhere'],
  ['POST', '/api/projects/1/feature_flags/', 'empty lists'],
  ['GET', '/api/cohort', 'Read persons with GET'],
  ['GET', '/api/organizations/@current/batch_exports', 'exportEvents'],
  ['POST', '/i/v0/ai', 'to /batch/ or /i/v0/ai/batch'],
  ['POST', '/i/v0/ai/otel', 'OpenTelemetry are not accepted'],
  ['POST', '/i/v1/ai/events', 'to /batch/ or /i/v0/ai/batch'],
  ['POST', '/i/v1/logs/', 'it takes events, at /batch/'],
] as const)(
  '%s %s, which scripts for PostHog call, is refused with what to use instead',
  async (method, url, sentence) => {
    await using app = await startTestApp(() => []);
    const answer = await app.inject({ method, url });
    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toMatchObject({ code: 'not_found', detail: expect.stringContaining(sentence) as string });
  },
);

it.each([
  '/api/projects/1/constructor',
  '/api/projects',
  '/query',
  '/api/projects/1/2/query',
  '/api/query2',
  '/i/v1/aim',
  '/i/v1',
])('%s is an ordinary unknown path', (path) => {
  expect(insteadOf(path)).toBeUndefined();
});
