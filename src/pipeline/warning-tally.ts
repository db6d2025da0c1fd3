import { sql } from 'kysely';
import { hourMs } from '../base/time.ts';
import { isoMicros } from '../base/clock.ts';
import type { WarningOccurrence, WarningType } from '../wire/contract/warnings.ts';
import type { Queries } from '../stores/metadata/queries.ts';

export const samplesMax = 5;

/** Warnings of one project, type and hour. */
export interface WarningCount {
  readonly projectId: number;
  readonly type: WarningType;
  /** Start of the hour of arrival, ISO 8601 with microseconds. */
  readonly hour: string;
  count: number;
  lastSeen: string;
  readonly samples: WarningOccurrence['details'][];
}

/** Counts warnings in memory; each window writes them once. */
export interface WarningTally {
  /** `receivedAt` in ms since the epoch. */
  add(projectId: number, receivedAt: number, warning: WarningOccurrence): void;
  counts(): WarningCount[];
}

export function createWarningTally(): WarningTally {
  const counts = new Map<string, WarningCount>();
  return {
    add: (projectId, receivedAt, { type, details }) => {
      const hourAt = receivedAt - (((receivedAt % hourMs) + hourMs) % hourMs);
      const key = `${projectId}:${type}:${hourAt}`;
      let known = counts.get(key);
      const seen = isoMicros(receivedAt);
      if (known === undefined) {
        known = { projectId, type, hour: isoMicros(hourAt), count: 0, lastSeen: seen, samples: [] };
        counts.set(key, known);
      }
      known.count += 1;
      if (seen > known.lastSeen) known.lastSeen = seen;
      if (known.samples.length < samplesMax) known.samples.push(details);
    },
    counts: () => [...counts.values()],
  };
}

/**
 * Adds to the stored counts and keeps the latest samples. Belongs in the transaction that moves the cursor. Other slots may add to
 * the same warnings: all use the same order, so that two transactions cannot deadlock.
 */
export async function addWarnings(tx: Queries, counts: readonly WarningCount[]): Promise<void> {
  for (const { projectId, type, hour, count, lastSeen, samples } of counts.toSorted(byKey)) {
    const { samples: known } = await tx
      .insertInto('ingestion_warnings')
      .values({ project_id: projectId, type, hour, count, last_seen: lastSeen, samples: '[]' })
      .onConflict((conflict) =>
        conflict.columns(['project_id', 'type', 'hour']).doUpdateSet((eb) => ({
          count: eb('ingestion_warnings.count', '+', eb.ref('excluded.count')),
          last_seen: sql<string>`case when excluded.last_seen > ingestion_warnings.last_seen
            then excluded.last_seen else ingestion_warnings.last_seen end`,
        })),
      )
      .returning('samples')
      .executeTakeFirstOrThrow();
    const merged = [...samples, ...(JSON.parse(known) as unknown[])].slice(0, samplesMax);
    await tx
      .updateTable('ingestion_warnings')
      .set({ samples: JSON.stringify(merged) })
      .where('project_id', '=', projectId)
      .where('type', '=', type)
      .where('hour', '=', hour)
      .execute();
  }
}

function byKey(a: WarningCount, b: WarningCount): number {
  const order = a.projectId - b.projectId || compareText(a.type, b.type);
  return order || compareText(a.hour, b.hour);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
