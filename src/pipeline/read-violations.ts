import type { Queries } from '../stores/metadata/queries.ts';
import { samplesMax } from './warning-tally.ts';

/** Violations of one rule since a time. */
export interface ViolationSummary {
  readonly event: string;
  readonly property: string;
  readonly rule: string;
  count: number;
  lastSeen: string;
  readonly samples: Record<string, unknown>[];
  /** Start of each period → count, oldest first. */
  readonly periods: Map<string, number>;
}

export interface ViolationFilter {
  readonly projectId: number;
  /** Start of an hour, ISO 8601. */
  readonly after: string;
  readonly before: string | undefined;
  readonly event: string | undefined;
  readonly by: 'hour' | 'day';
}

/** Returns the most frequently violated rule first. */
export async function summarizeViolations(db: Queries, filter: ViolationFilter): Promise<ViolationSummary[]> {
  const { projectId, after, before, event, by } = filter;
  const rows = await db
    .selectFrom('tracking_plan_violations')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('hour', '>=', after)
    .$if(before !== undefined, (query) => query.where('hour', '<', before ?? ''))
    .$if(event !== undefined, (query) => query.where('event', '=', event ?? ''))
    .orderBy('hour')
    .execute();
  const byRule = new Map<string, ViolationSummary>();
  for (const { event: name, property, rule, ...row } of rows) {
    const key = JSON.stringify([name, property, rule]);
    const known = byRule.get(key) ?? newSummary({ event: name, property, rule });
    byRule.set(key, known);
    const count = Number(row.count);
    known.count += count;
    if (row.last_seen > known.lastSeen) known.lastSeen = row.last_seen;
    // Rows come oldest first.
    known.samples.unshift(...(JSON.parse(row.samples) as Record<string, unknown>[]));
    known.samples.length = Math.min(known.samples.length, samplesMax);
    const start = by === 'hour' ? row.hour : `${row.hour.slice(0, 10)}T00:00:00.000000Z`;
    known.periods.set(start, (known.periods.get(start) ?? 0) + count);
  }
  return [...byRule.values()].sort((a, b) => b.count - a.count || compareText(nameOf(a), nameOf(b)));
}

function newSummary(of: Pick<ViolationSummary, 'event' | 'property' | 'rule'>): ViolationSummary {
  return { ...of, count: 0, lastSeen: '', samples: [], periods: new Map() };
}

function nameOf({ event, property, rule }: ViolationSummary): string {
  return [event, property, rule].join('\0');
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
