import type { StoredBy } from '../../run/results.ts';
import type { EarlierRuns } from '../../run/same-records.ts';
import type { VerifiedDay } from './verify-result.ts';

const runsMax = 200;

/** Who had stored events of a run before it did, most of them first. */
export async function storedBy(
  days: readonly Pick<VerifiedDay, 'byOthers'>[],
  knownRuns: EarlierRuns['known'] = async () => [],
): Promise<readonly StoredBy[]> {
  const counts = new Map<string, number>();
  for (const { byOthers } of days) {
    for (const [run, count] of byOthers) counts.set(run, (counts.get(run) ?? 0) + count);
  }
  const most = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, runsMax);
  const known = await knownRuns(most.map(([run]) => run).filter((run) => run !== ''));
  return most.map(([run, events]): StoredBy => {
    const { source = null, created_at = null } = known.find(({ id }) => id === run) ?? {};
    return { run: run === '' ? null : run, source, created_at, events };
  });
}
