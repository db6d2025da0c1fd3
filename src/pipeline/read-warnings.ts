import { inWords } from '../base/words.ts';
import type { Queries } from '../stores/metadata/queries.ts';
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

/** Returns the most frequent type first. `after` (start of an hour) and `before` (any time) are ISO 8601. */
export async function summarizeWarnings(
  db: Queries,
  projectId: number,
  after: string,
  before?: string,
): Promise<WarningSummary[]> {
  let query = db
    .selectFrom('ingestion_warnings')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('hour', '>=', after)
    .orderBy('hour', 'desc');
  if (before !== undefined) query = query.where('hour', '<', before);
  const rows = await query.execute();
  const byType = new Map<string, WarningSummary>();
  for (const row of rows) {
    const known = byType.get(row.type) ?? { type: row.type, count: 0, lastSeen: '', samples: [], hours: [] };
    byType.set(row.type, known);
    known.count += row.count;
    if (row.last_seen > known.lastSeen) known.lastSeen = row.last_seen;
    const samples = readSamples(row.samples);
    known.samples.push(...samples.slice(0, samplesMax - known.samples.length));
    known.hours.unshift({ hour: row.hour, count: row.count });
  }
  return [...byType.values()].sort((a, b) => b.count - a.count || (a.type < b.type ? -1 : 1));
}

/** Warnings of one type that arrived within an hour. */
export interface WarningHour {
  readonly hour: string;
  readonly count: number;
  readonly lastSeen: string;
  readonly samples: readonly Record<string, unknown>[];
}

/** Returns the newest hour first. `after` (start of an hour) and `before` (any time) are ISO 8601. */
export async function listWarningHours(
  db: Queries,
  { projectId, type }: { readonly projectId: number; readonly type: string },
  {
    after,
    before,
    limit,
  }: { readonly after: string | undefined; readonly before: string | undefined; readonly limit: number },
): Promise<WarningHour[]> {
  let query = db
    .selectFrom('ingestion_warnings')
    .select(['hour', 'count', 'last_seen', 'samples'])
    .where('project_id', '=', projectId)
    .where('type', '=', type)
    .orderBy('hour', 'desc')
    .limit(limit);
  if (after !== undefined) query = query.where('hour', '>=', after);
  if (before !== undefined) query = query.where('hour', '<', before);
  const rows = await query.execute();
  return rows.map(({ hour, count, last_seen: lastSeen, samples }) => ({
    hour,
    count: Number(count),
    lastSeen,
    samples: readSamples(samples),
  }));
}

/** Converts names to the API's spelling, whatever the step that warned calls them. */
function readSamples(text: string): Record<string, unknown>[] {
  const samples = JSON.parse(text) as Record<string, unknown>[];
  return samples.map((sample) =>
    Object.fromEntries(Object.entries(sample).map(([name, value]) => [inWords(name, '_'), value])),
  );
}
