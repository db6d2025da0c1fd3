import { isFresh, type Clock } from '../../base/clock.ts';
import type { Queries } from '../../stores/metadata/queries.ts';

/** Counts above this are cached: counting a million takes 25 ms of CPU, and every page of the list shows the count. */
const keptFrom = 20_000;
const keptMs = 10_000;

export interface PersonCounts {
  /** Returns the number of persons in the project; a large number may be up to ten seconds old. */
  of(projectId: number): Promise<number>;
}

export function createPersonCounts({ db, clock }: { readonly db: Queries; readonly clock: Clock }): PersonCounts {
  const kept = new Map<number, { readonly count: number; readonly at: number }>();
  return {
    of: async (projectId) => {
      const now = clock.now();
      const known = kept.get(projectId);
      if (known !== undefined && isFresh(known.at, keptMs, now)) return known.count;
      const count = await countPersons(db, projectId);
      if (count < keptFrom) kept.delete(projectId);
      else kept.set(projectId, { count, at: now });
      return count;
    },
  };
}

async function countPersons(db: Queries, projectId: number): Promise<number> {
  const { count } = await db
    .selectFrom('persons')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow();
  return Number(count);
}
