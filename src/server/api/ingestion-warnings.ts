import { hourMs } from '../../base/time.ts';
import { isoMicros, type Clock } from '../../base/clock.ts';
import {
  ingestionWarningHoursQuerySchema,
  ingestionWarningHoursSchema,
  ingestionWarningListSchema,
  ingestionWarningQuerySchema,
  ingestionWarningTypeSchema,
  warningHoursDefault,
  type IngestionWarningRecord,
} from '../../wire/contract/ingestion-warnings.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { aboutWarning } from '../../wire/contract/warnings.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import {
  listWarningHours,
  summarizeWarnings,
  type WarningHour,
  type WarningSummary,
} from '../../pipeline/read-warnings.ts';
import { nextUrl } from './next-url.ts';
import { timeFilter } from './time-filter.ts';

const defaultMs = 7 * 24 * hourMs;

const common = { method: 'GET', scope: 'ingestion_warning:read', tag: 'Ingestion warnings' } as const;
const path = '/api/projects/:project_id/ingestion_warnings';
/** Start of an hour as stored. */
const hourForm = /^\d{4}-\d\d-\d\dT\d\d:00:00\.000000Z$/;

/** Routes of ingestion warnings. */
export function ingestionWarningRoutes({ db, clock }: { readonly db: Metadata; readonly clock: Clock }): ApiRoute[] {
  return [
    apiRoute({
      ...common,
      path,
      summary: 'List ingestion warnings by type, most frequent first',
      query: ingestionWarningQuerySchema,
      responses: { 200: ingestionWarningListSchema },
      handler: async (request) => {
        const after = timeFilter(request.query.after, 'after') ?? isoMicros(clock.now() - defaultMs);
        const { severity } = request.query;
        const before = timeFilter(request.query.before, 'before');
        const summaries = await summarizeWarnings(db, request.project().id, startOfHour(after), before);
        const results = summaries.map(toRecord).filter((each) => severity === undefined || each.severity === severity);
        return { status: 200, body: { results } };
      },
    }),
    hoursRoute(db),
  ];
}

function hoursRoute(db: Metadata): ApiRoute {
  return apiRoute({
    ...common,
    path: `${path}/:type`,
    summary: 'List ingestion warnings of a type by hour',
    description: 'Returns the newest hours first, with samples. Follow `next` for older hours.',
    params: ingestionWarningTypeSchema,
    query: ingestionWarningHoursQuerySchema,
    responses: { 200: ingestionWarningHoursSchema },
    handler: async (request) => {
      const { type } = request.params;
      const { limit = warningHoursDefault, cursor } = request.query;
      const { severity, meaning } = aboutWarning(type);
      const after = timeFilter(request.query.after, 'after');
      const range = {
        after: after === undefined ? undefined : startOfHour(after),
        before: cursor === undefined ? timeFilter(request.query.before, 'before') : readCursor(cursor),
      };
      const of = { projectId: request.project().id, type };
      const found = await listWarningHours(db, of, { ...range, limit: limit + 1 });
      const hours = found.slice(0, limit);
      const last = found.length > limit ? hours.at(-1) : undefined;
      const next = last === undefined ? null : nextUrl(request, last.hour);
      return { status: 200, body: { type, severity, meaning, next, previous: null, results: hours.map(toHour) } };
    },
  });
}

function readCursor(cursor: string): string {
  if (hourForm.test(cursor)) return cursor;
  throw new ApiError('invalid_input', 'Expected a cursor from a `next` link.', { attr: 'cursor' });
}

function toHour({ hour, count, lastSeen, samples }: WarningHour) {
  return { hour, count, last_seen: lastSeen, samples };
}

function startOfHour(iso: string): string {
  return `${iso.slice(0, 13)}:00:00.000000Z`;
}

function toRecord({ type, count, lastSeen, samples, hours }: WarningSummary): IngestionWarningRecord {
  const { severity, meaning } = aboutWarning(type);
  return { type, severity, meaning, count, last_seen: lastSeen, samples, sparkline: hours };
}
