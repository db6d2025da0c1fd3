import type { ImportRunRecord } from '../../../wire/contract/import-runs.ts';
import type { ErrorGroup } from '../../../wire/contract/import-results.ts';
import type { StoredBy, UndoResult, VerifyDifference, VerifyResult } from '../../run/results.ts';
import type { Stage } from '../../run/run.ts';
import type { ImportVerdict } from '../../../wire/contract/import-run-states.ts';

/**
 * What a run did, as `report.json` in staging: enough to check by hand that nothing is missing. Times are ISO 8601 UTC, durations ms,
 * speeds per second. Lists are limited and say how many entries they lack.
 */
export interface ReportResult {
  readonly version: 1;
  readonly made_at: string;
  readonly run: {
    readonly id: string;
    readonly project_id: number;
    readonly config_id: number;
    readonly source: string;
    readonly promoted_from: string | null;
    readonly created_at: string;
    readonly started_at: string | null;
  };
  /** Without the credentials in a target's address. */
  readonly options: ImportRunRecord['options'];
  /**
   * - `exact`: every control total agrees, and the target's store holds exactly what was loaded.
   * - `exact_by_id`: every control total agrees, and every event is stored with its id, time and name; properties were not compared,
   *   or transformations may have changed them.
   * - `incomplete`: every control total agrees, but the source itself says that something is missing.
   * - `unverified`: every control total agrees; the store was not, or cannot be, read.
   * - `checked`: only checked, nothing was loaded.
   * - `unfinished`: loading is not done.
   * - `different`: totals or contents differ; see `balance` and `differences`.
   */
  readonly verdict: ImportVerdict;
  /** The verdict in a sentence. */
  readonly summary: string;
  readonly totals: ReportTotals;
  /** Sums that were counted in two places each. */
  readonly balance: readonly BalanceLine[];
  readonly stages: readonly StageLine[];
  readonly parts: { readonly list: readonly PartLine[]; readonly more: number };
  /** Every day that has events. */
  readonly days: readonly DayLine[];
  /** The most frequent names, then one line for all others. */
  readonly events: readonly EventLine[];
  readonly cells: ReportCells;
  readonly errors: readonly ErrorGroup[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  readonly verify: { readonly verdict: VerifyResult['verdict'] | 'not done'; readonly detail: string };
  readonly differences: { readonly list: readonly VerifyDifference[]; readonly more: number };
  /** Where earlier copies of this run's events came from, by run and by live capture. `null` if the store was not read. */
  readonly stored_by: readonly StoredBy[] | null;
  /** Runs that were undone before this one loaded. */
  readonly replaced?: readonly ReplacedRun[];
  /** The undo of this run; everything above is from before it. */
  readonly undo?: UndoResult;
}

export interface ReportTotals {
  readonly records: {
    readonly read: number;
    readonly converted: number;
    readonly skipped: number;
    readonly rejected: number;
    readonly skipped_by_reason: Readonly<Record<string, number>>;
  };
  readonly events: {
    /** Events of the records, before the choice. */
    readonly read: number;
    readonly left_out: number;
    readonly left_out_by_reason: Readonly<Record<string, number>>;
    readonly converted: number;
    readonly duplicates: number;
    readonly rejected: number;
    readonly loaded: number;
    /** `null` if the store was not read. */
    readonly verified: number | null;
    /** Of these, events stored by another import or by live capture; `null` if the store was not read. */
    readonly stored_by_others: number | null;
    /** Loaded events that the retention of the project has removed since; absent if none. */
    readonly expired?: number;
  };
  /** Events without duplicates that only describe a person (`$set`) or a group (`$groupidentify`); reports of old versions lack it. */
  readonly profiles?: { readonly persons: number; readonly groups: number };
  /** Size at the source, before decompression, if it provides that; otherwise of what was staged. */
  readonly source_bytes: number;
}

/** A run that this one replaced. */
export interface ReplacedRun {
  readonly run: string;
  /** `null` if its report is removed. */
  readonly source: string | null;
  readonly created_at: string | null;
  /** The result of its undo; `null` until that is done. */
  readonly undo: Omit<UndoResult, 'cells' | 'more_cells'> | null;
}

export interface BalanceLine {
  /** `records read = converted + skipped + rejected`. */
  readonly name: string;
  readonly left: number;
  readonly right: number;
  readonly holds: boolean;
}

export interface StageLine {
  readonly stage: Stage;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  /** `null` if not begun. Includes pauses. */
  readonly duration_ms: number | null;
  readonly done: number;
  readonly bytes: number;
  /** `done` per second over the whole stage. */
  readonly rate: number | null;
}

export interface PartLine {
  readonly key: string;
  /** What the source provides about its content: ETag, size and time. */
  readonly identity: string | null;
  readonly records: number;
  readonly faults: number;
  readonly raw_bytes: number;
  /** Checksums of its staged files, in order. */
  readonly sha256: readonly string[];
  readonly complete: boolean;
}

export interface DayLine {
  readonly day: string;
  /** Without duplicates. */
  readonly to_load: number;
  readonly duplicates: number;
  readonly loaded: number;
  /** Rejected by the target. */
  readonly rejected: number;
  /** Found in the target's store; `null` if it was not read. */
  readonly verified: number | null;
  /** Loaded events that the retention of the project has removed since; absent if none. */
  readonly expired?: number;
}

export interface EventLine {
  /** Empty for the rest. */
  readonly event: string;
  /** Number of names in this line: 1, or those of the rest. */
  readonly names: number;
  readonly to_load: number;
  readonly loaded: number;
  readonly rejected: number;
  readonly verified: number | null;
  readonly expired?: number;
}

/**
 * Day × event. `rows[i].counts[j]` belongs to `events[j]`; the last column is the rest. A single number if the counts to load, loaded and
 * found are equal; otherwise all three (`null` if the store was not read), and those that have expired since, if any.
 */
export interface ReportCells {
  readonly events: readonly string[];
  readonly rows: readonly { readonly day: string; readonly counts: readonly ReportCell[] }[];
}
export type ReportCell = number | readonly [toLoad: number, loaded: number, found: number | null, expired?: number];
