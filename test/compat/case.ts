import type * as fc from 'fast-check';
import type { TransformationPlugin } from '../../src/plugins/plugin.ts';
import type { Job, Pair } from './compare.ts';
import type { Outcome } from './published-plugin.ts';

/** A built-in transformation beside the published plugin that it stands for. */
export interface Case {
  /** Folder of the published source. */
  readonly published: string;
  readonly plugin: TransformationPlugin;
  readonly jobs: fc.Arbitrary<Job>;
  /**
   * For events that may turn out differently: the start of the sentence in the plugin's list of differences that says so.
   * Judged by what went in, never by what came out.
   */
  readonly mayDiffer?: (pair: Pair, job: Job) => string | undefined;
  /** Takes out of the published result what a listed difference says is never the same. */
  readonly normalise?: (published: Outcome) => Outcome;
  /** The same for ours. */
  readonly normaliseOurs?: (ours: Outcome) => Outcome;
}

/** Changes the properties of a result. */
export function properties(change: (properties: Record<string, unknown>) => void): (outcome: Outcome) => Outcome {
  return (outcome) => {
    if (outcome.kind === 'kept') change(outcome.event.properties);
    return outcome;
  };
}
