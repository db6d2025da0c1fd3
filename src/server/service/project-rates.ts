import type { Ingest } from '../../wire/batch/ingest.ts';
import type { Lane } from '../../log/eventlog.ts';

/** Events accepted per project within the last minute. */
export interface ProjectRates {
  /** Per second. */
  of(projectId: number): Readonly<Record<Lane, number>>;
  /** Projects with any events, busiest first, at most 1,000. */
  all(): readonly (readonly [projectId: string, Readonly<Record<Lane, number>>])[];
}

const bucketMs = 5_000;
const buckets = 12;
const projectsMax = 1000;

interface Counted {
  readonly counts: Float64Array;
  /** Number of the last bucket counted into. */
  last: number;
}

/** Wraps ingest and counts the events accepted per project, one addition a batch. */
export function createCountedIngest(
  ingest: Ingest,
  nowMs: () => number = () => performance.now(),
): { readonly ingest: Ingest; readonly rates: ProjectRates } {
  const byProject = new Map<string, Counted>();
  const keyOf = (projectId: number, lane: Lane): string => `${lane} ${projectId}`;
  const current = (): number => Math.floor(nowMs() / bucketMs);
  const rate = (projectId: number, lane: Lane): number => {
    const counted = byProject.get(keyOf(projectId, lane));
    if (counted === undefined) return 0;
    forget(counted, current());
    const sum = counted.counts.reduce((one, other) => one + other, 0);
    return Math.round((sum * 10) / ((buckets * bucketMs) / 1000)) / 10;
  };
  const of = (projectId: number) => ({ live: rate(projectId, 'live'), historical: rate(projectId, 'historical') });
  return {
    ingest: {
      accept: async (batch) => {
        await ingest.accept(batch);
        const key = keyOf(batch.projectId, batch.lane);
        const counted = byProject.get(key) ?? { counts: new Float64Array(buckets), last: current() };
        byProject.set(key, counted);
        forget(counted, current());
        const at = counted.last % buckets;
        counted.counts[at] = (counted.counts[at] ?? 0) + batch.events;
      },
    },
    rates: { of, all: () => busiest([...byProject.keys()], of) },
  };
}

function busiest(keys: readonly string[], of: ProjectRates['of']): ReturnType<ProjectRates['all']> {
  const ids = new Set(keys.map((key) => key.slice(key.indexOf(' ') + 1)));
  return [...ids]
    .map((id) => [id, of(Number(id))] as const)
    .filter(([, { live, historical }]) => live + historical > 0)
    .sort(([, one], [, other]) => other.live + other.historical - one.live - one.historical)
    .slice(0, projectsMax);
}

/** Clears buckets older than a minute. */
function forget(counted: Counted, now: number): void {
  const passed = Math.min(now - counted.last, buckets);
  for (let step = 1; step <= passed; step++) counted.counts[(counted.last + step) % buckets] = 0;
  counted.last = now;
}
