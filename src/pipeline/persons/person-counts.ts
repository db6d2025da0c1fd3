import { isFresh, type Clock } from '../../base/clock.ts';
import type { Queries } from '../../stores/metadata/queries.ts';

/** Counts above this are cached: counting a million takes 25 ms of CPU, and every page of the list shows the count. */
const keptFrom = 20_000;
const keptMs = 10_000;

export interface PersonCounts {
  /** Returns the number of persons in the project, or of its identified or anonymous ones; a large number may be up to ten seconds old. */
  of(projectId: number, isIdentified?: boolean): Promise<number>;
}

export function createPersonCounts({ db, clock }: { readonly db: Queries; readonly clock: Clock }): PersonCounts {
  const kept = new Map<string, { readonly count: number; readonly at: number }>();
  return {
    of: async (projectId, isIdentified) => {
      const now = clock.now();
      const key = `${projectId} ${isIdentified}`;
      const known = kept.get(key);
      if (known !== undefined && isFresh(known.at, keptMs, now)) return known.count;
      const count = await countPersons(db, projectId, isIdentified);
      if (count < keptFrom) kept.delete(key);
      else kept.set(key, { count, at: now });
      return count;
    },
  };
}

async function countPersons(db: Queries, projectId: number, isIdentified: boolean | undefined): Promise<number> {
  let query = db
    .selectFrom('persons')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('project_id', '=', projectId);
  if (isIdentified !== undefined) query = query.where('is_identified', '=', isIdentified ? 1 : 0);
  const { count } = await query.executeTakeFirstOrThrow();
  return Number(count);
}
