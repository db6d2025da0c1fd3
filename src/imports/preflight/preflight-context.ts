import type { AdviceWords } from '../run/advice-words.ts';
import type { RunOptions } from '../run/run.ts';
import type { OpenRunTransform } from '../stages/check/segment/run-transform.ts';
import type { DiskQuota } from '../stages/export/disk-quota.ts';
import type { Source } from '../source.ts';
import type { Staging } from '../staging.ts';
import type { EndpointFacts, KeyFacts, ReaderFacts, Target } from '../target.ts';
import type { SourceSample } from './sample-source.ts';

/** What a project may send of history, where its service requires agreements. */
export interface AgreementFacts {
  /** Undefined: none is approved. */
  readonly approvedEventsPerSecond: number | undefined;
  /** One waits for its decision. */
  readonly isFiled: boolean;
  /** Without an agreement. */
  readonly freeEventsPerSecond: number;
  /** Without an agreement, of those that are left. */
  readonly freeEventsLeft: number;
}

/** What is asked of a target beforehand. */
export type ProbedTarget = Pick<Target, 'description' | 'probe'>;

export interface PreflightDeps {
  readonly staging: Staging;
  readonly quota: Pick<DiskQuota, 'room'>;
  readonly words: AdviceWords;
  readonly openSource: () => Promise<Source>;
  /** Undefined: there is no key to load with. */
  readonly openTarget: () => Promise<ProbedTarget | undefined>;
  /** Finds the code that a run names; left out: there is none. */
  readonly openTransform?: OpenRunTransform | undefined;
  /** Left out: the target requires none, or nobody can tell. */
  readonly agreement?: (() => Promise<AgreementFacts | undefined>) | undefined;
  /** Free where this service stores events and tables of runs; left out: nobody can tell. */
  readonly storeFreeBytes?: (() => Promise<number | undefined>) | undefined;
  /** Whether tables of runs lie on the disk of staging; left out: they do not, or nobody can tell. */
  readonly tablesBesideStaging?: (() => Promise<boolean>) | undefined;
}

/** What the checks of one preflight share: each is asked once, whoever asks first. */
export interface PreflightContext {
  readonly deps: PreflightDeps;
  readonly options: RunOptions;
  readonly words: AdviceWords;
  readonly signal: AbortSignal;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly target: () => Promise<ProbedTarget | undefined>;
  /** Undefined: the target is this service's own project, or there is none. */
  readonly endpoint: () => Promise<EndpointFacts | undefined>;
  readonly projectKey: () => Promise<KeyFacts | undefined>;
  readonly reader: () => Promise<ReaderFacts | undefined>;
  readonly sample: () => Promise<SourceSample>;
  /** The same for checks that can do without: undefined where the source fails or is slow, which its own check says. */
  readonly estimate: () => Promise<SourceSample | undefined>;
}
