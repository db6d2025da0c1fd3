import type { PlanPolicy } from '../../../../wire/contract/plan-policies.ts';
import type { Violation } from '../../../../wire/tracking-plan/compile-plan.ts';

/** Violations of one rule of the tracking plan by events of a run. */
export interface PlanCount {
  readonly event: string;
  readonly property: string;
  readonly rule: string;
  readonly policy: PlanPolicy;
  readonly count: number;
  /** Where the first ones are, and what was found. */
  readonly samples: readonly string[];
}

/** Counts violations of a segment, or of a run. */
export interface PlanTally {
  add(violations: readonly Violation[], place: string): void;
  addCounts(counts: readonly PlanCount[]): void;
  /** Most frequent first. */
  list(): readonly PlanCount[];
}

const samplesMax = 5;
const sampleCharsMax = 200;
/** Further rules are counted together. */
const rulesMax = 1000;

export function createPlanTally(): PlanTally {
  const counts = new Map<string, PlanCount & { count: number; readonly samples: string[] }>();
  const addOne = (of: Omit<PlanCount, 'count' | 'samples'>, count: number, samples: readonly string[]): void => {
    const key = keyOf(of);
    const isKnown = counts.has(key) || counts.size < rulesMax;
    const own = isKnown ? of : { event: '', property: '', rule: 'other', policy: of.policy };
    const known = counts.get(keyOf(own)) ?? { ...own, count: 0, samples: [] };
    counts.set(keyOf(own), known);
    known.count += count;
    for (const sample of samples) if (known.samples.length < samplesMax) known.samples.push(sample);
  };
  return {
    add: (violations, place) => {
      for (const { event, property, rule, policy, detail } of violations) {
        addOne({ event, property, rule, policy }, 1, [`${place}: ${detail}`.slice(0, sampleCharsMax)]);
      }
    },
    addCounts: (found) => {
      for (const { count, samples, ...of } of found) addOne(of, count, samples);
    },
    list: () => [...counts.values()].sort((a, b) => b.count - a.count || (keyOf(a) < keyOf(b) ? -1 : 1)),
  };
}

function keyOf({ event, property, rule, policy }: Omit<PlanCount, 'count' | 'samples'>): string {
  return JSON.stringify([event, property, rule, policy]);
}
