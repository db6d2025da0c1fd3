import { hourMs } from '../base/time.ts';
import { isoMicros, type Clock } from '../base/clock.ts';
import {
  ingestionWarningListSchema,
  ingestionWarningQuerySchema,
  type IngestionWarningRecord,
} from '../contract/ingestion-warnings.ts';
import { aboutWarning } from '../contract/warnings.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import type { Metadata } from '../metadata/database.ts';
import { summarizeWarnings, type WarningSummary } from '../pipeline/read-warnings.ts';
import { timeFilter } from './time-filter.ts';

const defaultMs = 7 * 24 * hourMs;

/** What happened to events besides being stored as sent. */
export function ingestionWarningRoutes({ db, clock }: { readonly db: Metadata; readonly clock: Clock }): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      scope: 'ingestion_warning:read',
      tag: 'ingestion warnings',
      path: '/api/projects/:project_id/ingestion_warnings',
      summary: 'Ingestion warnings by type, the most frequent first',
      query: ingestionWarningQuerySchema,
      responses: { 200: ingestionWarningListSchema },
      handler: async (request) => {
        const after = timeFilter(request.query.after, 'after') ?? isoMicros(clock.now() - defaultMs);
        const summaries = await summarizeWarnings(db, request.project().id, startOfHour(after));
        return { status: 200, body: { results: summaries.map(toRecord) } };
      },
    }),
  ];
}

function startOfHour(iso: string): string {
  return `${iso.slice(0, 13)}:00:00.000000Z`;
}

function toRecord({ type, count, lastSeen, samples, hours }: WarningSummary): IngestionWarningRecord {
  const { severity, meaning } = aboutWarning(type);
  return { type, severity, meaning, count, last_seen: lastSeen, samples, sparkline: hours };
}
