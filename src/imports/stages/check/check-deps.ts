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
import type { OpenRunTransform } from './segment/run-transform.ts';

export interface CheckLimits {
  /** Of records before compression, for which it is worth it to start a thread. */
  readonly threadBytesMin: number;
  /** Time between two reports of how far a segment is. */
  readonly progressMs: number;
  /** Rows that are inserted at once of those that are made last. */
  readonly deferredRows: number;
}

const standardLimits: CheckLimits = { threadBytesMin: 16 << 20, progressMs: 500, deferredRows: 50_000 };

export interface CheckDeps {
  readonly staging: Staging;
  /** Where the table of the run is. */
  readonly runStore: RunStore;
  /** Resolves when there is room for more rows. Default: there is. */
  readonly waitForRoom?: () => Promise<void>;
  /** The target's project; undefined: it cannot be asked. */
  readonly project?: { knownEvents(): Promise<ReadonlySet<string>> } | undefined;
  /** Reads back what the target has stored; undefined: it cannot be read. */
  readonly reader?: Pick<TargetReader, 'eventsNamed'> | undefined;
  /** Opens a table to join; left out: none can be. */
  readonly openTable?: TableDeps['openTable'];
  /** Finds the code that a run names; left out: there is none. Throws RunFailedError. */
  readonly openTransform?: OpenRunTransform | undefined;
  /** Left out: there are none to ask about. */
  readonly earlier?: EarlierRuns | undefined;
  /** Resolves when no other run stores links or group events that this one may have; default: at once. */
  readonly waitToDecide?: (leased: LeasedRun) => Promise<void>;
  /** What taking back these runs would do; left out: none can be taken back from here. */
  readonly planReplace?: ((runs: readonly string[]) => Promise<readonly RunToReplace[]>) | undefined;
  /** Of JSON, one event: what the door takes. */
  readonly eventBytesMax: number;
  readonly clock: Clock;
  /** Segments that are checked side by side, each in a thread of its own from two on; default 1. */
  readonly threads?: number;
  readonly readSegment?: ReadSegment;
  /**
   * `import_rows_written`, `import_segment_checked`, `import_deferred_written`, `import_days_settled`, `import_check_written`.
   */
  readonly failpoint?: Failpoint;
  /** How large pieces are. */
  readonly limits?: Partial<CheckLimits>;
  /** How advice is given; default as in the API. */
  readonly words?: AdviceWords;
}

/** With every default. */
export type Ready = Required<
  Omit<CheckDeps, 'project' | 'reader' | 'earlier' | 'openTable' | 'openTransform' | 'limits'>
> & {
  readonly openTable: CheckDeps['openTable'];
  readonly openTransform: CheckDeps['openTransform'];
  readonly earlier: CheckDeps['earlier'];
  readonly project: CheckDeps['project'];
  readonly reader: CheckDeps['reader'];
  readonly limits: CheckLimits;
};

/** With every default. */
export function readyOf(deps: CheckDeps): Ready {
  return {
    ...deps,
    project: deps.project,
    earlier: deps.earlier,
    planReplace: deps.planReplace,
    openTable: deps.openTable,
    openTransform: deps.openTransform,
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
