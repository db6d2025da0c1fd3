import { hourMs } from '../base/time.ts';
import { isoMicros } from '../base/clock.ts';
import type { WarningOccurrence, WarningType } from '../contract/warnings.ts';
import type { Queries } from '../metadata/queries.ts';

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

/** Counts warnings in memory; a window writes them once. */
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

/** Adds to what is counted; the latest samples stay. Belongs into the transaction that moves the cursor. */
export async function addWarnings(tx: Queries, counts: readonly WarningCount[]): Promise<void> {
  for (const { projectId, type, hour, count, lastSeen, samples } of counts) {
    const known = await tx
      .selectFrom('ingestion_warnings')
      .select(['count', 'last_seen', 'samples'])
      .where('project_id', '=', projectId)
      .where('type', '=', type)
      .where('hour', '=', hour)
      .executeTakeFirst();
    const before = known === undefined ? [] : (JSON.parse(known.samples) as unknown[]);
    const merged = {
      count: count + (known?.count ?? 0),
      last_seen: known !== undefined && known.last_seen > lastSeen ? known.last_seen : lastSeen,
      samples: JSON.stringify([...samples, ...before].slice(0, samplesMax)),
    };
    await tx
      .insertInto('ingestion_warnings')
      .values({ project_id: projectId, type, hour, ...merged })
      .onConflict((conflict) => conflict.columns(['project_id', 'type', 'hour']).doUpdateSet(merged))
      .execute();
  }
}
