import type { ImportRunRecord } from '../../../wire/contract/import-runs.ts';
import type { ErrorGroup } from '../../../wire/contract/import-results.ts';
import type { StoredBy, UndoResult, VerifyDifference, VerifyResult } from '../../run/results.ts';
import type { Stage } from '../../run/run.ts';

/**
 * What a run did, as `report.json` in staging: enough to check by hand that nothing is missing. Times are ISO 8601 UTC,
 * durations ms, speeds per second. Lists have limits; beside each is what is not in it.
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
  /** Without credentials: those in the address of a target are left out. */
  readonly options: ImportRunRecord['options'];
  /**
   * - `exact`: every sum agrees, and the target's store holds exactly what was loaded.
   * - `exact_by_id`: every sum agrees, and every event is stored with its id, time and name; properties were not compared, or
   *   transformations may have changed them.
   * - `incomplete`: every sum agrees, but the source itself says that something is missing.
   * - `unverified`: every sum agrees; nobody looked into the store, or nobody can.
   * - `checked`: nothing was sent, and nothing was to be.
   * - `unfinished`: loading is not done.
   * - `different`: something does not add up; see `balance` and `differences`.
   */
  readonly verdict: 'exact' | 'exact_by_id' | 'incomplete' | 'unverified' | 'checked' | 'unfinished' | 'different';
  /** The verdict in a sentence. */
  readonly summary: string;
  readonly totals: ReportTotals;
  /** Each a sum from one place and the same from another. */
  readonly balance: readonly BalanceLine[];
  readonly stages: readonly StageLine[];
  readonly parts: { readonly list: readonly PartLine[]; readonly more: number };
  /** Every day that has events. */
  readonly days: readonly DayLine[];
  /** The most frequent, then one `rest` of all others. */
  readonly events: readonly EventLine[];
  readonly cells: ReportCells;
  readonly errors: readonly ErrorGroup[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  readonly verify: { readonly verdict: VerifyResult['verdict'] | 'not done'; readonly detail: string };
  readonly differences: { readonly list: readonly VerifyDifference[]; readonly more: number };
  /** Who had stored events of this run before: by run and by live capture. Null: not looked at. */
  readonly stored_by: readonly StoredBy[] | null;
  /** Runs that were taken back before this one loaded; absent: none. */
  readonly replaced?: readonly ReplacedRun[];
  /** What the run loaded was taken back: all above is of the time before. */
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
    /** Of the records, before what was chosen. */
    readonly read: number;
    readonly left_out: number;
    readonly left_out_by_reason: Readonly<Record<string, number>>;
    readonly converted: number;
    readonly duplicates: number;
    readonly rejected: number;
    readonly loaded: number;
    /** Null: not looked at. */
    readonly verified: number | null;
    /** Of these: stored by another import or by live capture; null: not looked at. */
    readonly stored_by_others: number | null;
  };
  /** Of the events without duplicates: those that tell only what a person (`$set`) or a group (`$groupidentify`) is like; reports of old versions lack it. */
  readonly profiles?: { readonly persons: number; readonly groups: number };
  /** Of the source, before decompression where it says so; else of what was staged. */
  readonly source_bytes: number;
}

/** A run that this one has taken the place of. */
export interface ReplacedRun {
  readonly run: string;
  /** Null: its report is gone. */
  readonly source: string | null;
  readonly created_at: string | null;
  /** What taking it back came to; null: it is not done. */
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
  /** Null: not begun. Pauses count. */
  readonly duration_ms: number | null;
  readonly done: number;
  readonly bytes: number;
  /** `done` per second over the whole stage. */
  readonly rate: number | null;
}

export interface PartLine {
  readonly key: string;
  /** What the source says about its content: ETag, size and time. */
  readonly identity: string | null;
  readonly records: number;
  readonly faults: number;
  readonly raw_bytes: number;
  /** Of its staged files, in order. */
  readonly sha256: readonly string[];
  readonly complete: boolean;
}

export interface DayLine {
  readonly day: string;
  /** Without duplicates. */
  readonly to_load: number;
  readonly duplicates: number;
  readonly loaded: number;
  /** Refused by the target. */
  readonly rejected: number;
  /** Found in the target's store; null: not looked at. */
  readonly verified: number | null;
}

export interface EventLine {
  /** Empty for the rest. */
  readonly event: string;
  /** How many names are in this line: 1, or those of the rest. */
  readonly names: number;
  readonly to_load: number;
  readonly loaded: number;
  readonly rejected: number;
  readonly verified: number | null;
}

/**
 * Day × event. `rows[i].counts[j]` belongs to `events[j]`; the last column is the rest. A number where what was to be loaded,
 * what was loaded and what was found are the same; else these three (null: not looked at).
 */
export interface ReportCells {
  readonly events: readonly string[];
  readonly rows: readonly { readonly day: string; readonly counts: readonly ReportCell[] }[];
}
export type ReportCell = number | readonly [toLoad: number, loaded: number, found: number | null];
