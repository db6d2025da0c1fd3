import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import type { RunStore } from '../../../stores/events/run-tables.ts';
import type { TableDeps } from './read-tables.ts';
import { fieldWords, type AdviceWords } from '../../run/advice-words.ts';
import { readSegment as standardReadSegment, type ReadSegment } from './segment/read-segment.ts';
import type { RunToReplace } from '../../run/results.ts';
import type { LeasedRun } from '../../run/leased-run.ts';
import type { EarlierRuns } from '../../run/same-records.ts';
import type { Staging } from '../../staging.ts';
import type { TargetReader } from '../../target.ts';
import type { KeptOutList } from '../../../wire/contract/kept-out.ts';
import type { PlanText } from '../../run/tracking-plan-of.ts';
import type { OpenRunTransform } from './segment/run-transform.ts';

export interface CheckLimits {
  /** Uncompressed bytes of records that are worth a thread. */
  readonly threadBytesMin: number;
  /** Interval between progress reports of a segment. */
  readonly progressMs: number;
  /** Batch size of inserting deferred rows. */
  readonly deferredRows: number;
}

const standardLimits: CheckLimits = { threadBytesMin: 16 << 20, progressMs: 500, deferredRows: 50_000 };

export interface CheckDeps {
  readonly staging: Staging;
  /** Where the table of the run is. */
  readonly runStore: RunStore;
  /** Resolves when the store has room for more rows. By default there always is. */
  readonly waitForRoom?: () => Promise<void>;
  /** The target's project; `undefined` if it cannot be queried. */
  readonly project?: { knownEvents(): Promise<ReadonlySet<string>> } | undefined;
  /** Reads stored events back from the target; `undefined` if they cannot be read. */
  readonly reader?: Pick<TargetReader, 'eventsNamed'> | undefined;
  /** Opens a table to join; `undefined` if joins are not available here. */
  readonly openTable?: TableDeps['openTable'];
  /** Finds the transform of a run; `undefined` if there are no transforms here. Throws RunFailedError. */
  readonly openTransform?: OpenRunTransform | undefined;
  /** Reads the tracking plan that applies to the events of the run; without it, or if it returns `undefined`, none does. */
  readonly trackingPlan?: (() => Promise<PlanText | undefined>) | undefined;
  /** Reads the ids that the target's project keeps out; without it, or if it returns `undefined`, none are. */
  readonly keptOut?: (() => Promise<KeptOutList | undefined>) | undefined;
  /** `undefined` if there are no earlier runs to compare with. */
  readonly earlier?: EarlierRuns | undefined;
  /** Resolves when no other run stores links or group events that this one may have. Immediately by default. */
  readonly waitToDecide?: (leased: LeasedRun) => Promise<void>;
  /** Plans the undo of the runs to replace; `undefined` if none can be undone from here. */
  readonly planReplace?: ((runs: readonly string[]) => Promise<readonly RunToReplace[]>) | undefined;
  /** Maximum JSON size of one event that ingest accepts. */
  readonly eventBytesMax: number;
  readonly clock: Clock;
  /** Segments that are checked in parallel, from two on in separate threads. Default 1. */
  readonly threads?: number;
  readonly readSegment?: ReadSegment;
  /**
   * `import_rows_written`, `import_segment_checked`, `import_deferred_written`, `import_days_settled`, `import_check_written`.
   */
  readonly failpoint?: Failpoint;
  readonly limits?: Partial<CheckLimits>;
  /** Wording of advice; by default that of the API. */
  readonly words?: AdviceWords;
}

/** CheckDeps with all defaults applied. */
export type Ready = Required<
  Omit<
    CheckDeps,
    'project' | 'reader' | 'earlier' | 'openTable' | 'openTransform' | 'trackingPlan' | 'keptOut' | 'limits'
  >
> & {
  readonly openTable: CheckDeps['openTable'];
  readonly openTransform: CheckDeps['openTransform'];
  readonly trackingPlan: CheckDeps['trackingPlan'];
  readonly keptOut: CheckDeps['keptOut'];
  readonly earlier: CheckDeps['earlier'];
  readonly project: CheckDeps['project'];
  readonly reader: CheckDeps['reader'];
  readonly limits: CheckLimits;
};

export function readyOf(deps: CheckDeps): Ready {
  return {
    ...deps,
    project: deps.project,
    earlier: deps.earlier,
    planReplace: deps.planReplace,
    openTable: deps.openTable,
    openTransform: deps.openTransform,
    trackingPlan: deps.trackingPlan,
    keptOut: deps.keptOut,
    reader: deps.reader,
    readSegment: deps.readSegment ?? standardReadSegment,
    failpoint: deps.failpoint ?? (() => {}),
    waitForRoom: deps.waitForRoom ?? (async () => {}),
    waitToDecide: deps.waitToDecide ?? (async () => {}),
    words: deps.words ?? fieldWords,
    threads: deps.threads ?? 1,
    limits: { ...standardLimits, ...deps.limits },
  };
}
