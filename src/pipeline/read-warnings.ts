import type { Queries } from '../metadata/queries.ts';
import { samplesMax } from './warning-tally.ts';

/** Warnings of one type since a time. */
export interface WarningSummary {
  readonly type: string;
  count: number;
  lastSeen: string;
  readonly samples: Record<string, unknown>[];
  /** Oldest first. */
  readonly hours: { readonly hour: string; readonly count: number }[];
}

/** Most frequent type first. `after`: ISO 8601, start of an hour. */
export async function summarizeWarnings(db: Queries, projectId: number, after: string): Promise<WarningSummary[]> {
  const rows = await db
    .selectFrom('ingestion_warnings')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('hour', '>=', after)
    .orderBy('hour', 'desc')
    .execute();
  const byType = new Map<string, WarningSummary>();
  for (const row of rows) {
    const known = byType.get(row.type) ?? { type: row.type, count: 0, lastSeen: '', samples: [], hours: [] };
    byType.set(row.type, known);
    known.count += row.count;
    if (row.last_seen > known.lastSeen) known.lastSeen = row.last_seen;
    const samples = JSON.parse(row.samples) as Record<string, unknown>[];
    known.samples.push(...samples.slice(0, samplesMax - known.samples.length));
    known.hours.unshift({ hour: row.hour, count: row.count });
  }
  return [...byType.values()].sort((a, b) => b.count - a.count || (a.type < b.type ? -1 : 1));
}
