import type { AdviceWords } from '../run/advice-words.ts';
import type { RunOptions } from '../run/run.ts';
import type { OpenRunTransform } from '../stages/check/segment/run-transform.ts';
import type { DiskQuota } from '../stages/export/disk-quota.ts';
import type { Source } from '../source.ts';
import type { Staging } from '../staging.ts';
import type { EndpointFacts, ExpiredBefore, KeyFacts, ReaderFacts, Target } from '../target.ts';
import type { SourceSample } from './sample-source.ts';

/** How much history a project may send, where its service requires agreements. */
export interface AgreementFacts {
  /** `undefined` if no agreement is approved. */
  readonly approvedEventsPerSecond: number | undefined;
  /** An agreement waits for its decision. */
  readonly isFiled: boolean;
  /** Speed without an agreement. */
  readonly freeEventsPerSecond: number;
  /** Remaining events without an agreement. */
  readonly freeEventsLeft: number;
}

/** The part of a target that the preflight uses. */
export type ProbedTarget = Pick<Target, 'description' | 'probe'> & Partial<Pick<Target, 'reader'>>;

export interface PreflightDeps {
  readonly staging: Staging;
  readonly quota: Pick<DiskQuota, 'room'>;
  readonly words: AdviceWords;
  readonly openSource: () => Promise<Source>;
  /** Returns `undefined` if there is no key to load with. */
  readonly openTarget: () => Promise<ProbedTarget | undefined>;
  /** Finds the code of a run's transform; without it there are no transforms. */
  readonly openTransform?: OpenRunTransform | undefined;
  /** Agreement of the target's project, if required and known. */
  readonly agreement?: (() => Promise<AgreementFacts | undefined>) | undefined;
  /** The retention of the target's project, if it removes historical events and is known. */
  readonly expiredBefore?: (() => Promise<ExpiredBefore | undefined>) | undefined;
  /** Free bytes where this service stores events and tables of runs, if known. */
  readonly storeFreeBytes?: (() => Promise<number | undefined>) | undefined;
  /** Whether tables of runs are on the disk of staging, if known. */
  readonly tablesBesideStaging?: (() => Promise<boolean>) | undefined;
}

/** What the checks of one preflight share: each request is made once. */
export interface PreflightContext {
  readonly deps: PreflightDeps;
  readonly options: RunOptions;
  readonly words: AdviceWords;
  readonly signal: AbortSignal;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly target: () => Promise<ProbedTarget | undefined>;
  /** Resolves with `undefined` without a target, or if it is this service's own project. */
  readonly endpoint: () => Promise<EndpointFacts | undefined>;
  readonly projectKey: () => Promise<KeyFacts | undefined>;
  readonly reader: () => Promise<ReaderFacts | undefined>;
  readonly sample: () => Promise<SourceSample>;
  /** The sample for checks that can do without: `undefined` if the source fails or is slow, which its own check reports. */
  readonly estimate: () => Promise<SourceSample | undefined>;
}
