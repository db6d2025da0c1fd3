import type { CheckProblemCode } from '../../wire/contract/import-runs.ts';
import type { CheckFinding, ErrorGroup, EventSummary, SameRecords } from '../../wire/contract/import-results.ts';
import type { NoteCode, NoteCount, NoteKind } from '../formats/record-notes.ts';
import type { UnusualValue } from '../../wire/contract/unusual-values.ts';
import type { RunTotals } from './run.ts';

/** What the check found: `check.json` in staging, `GET …/runs/:run/check/`. */
export interface CheckResult {
  readonly verdict: 'passed' | 'failed';
  /** Why it failed, one sentence each. */
  readonly problems: readonly string[];
  /** Codes of the problems; results of old versions lack it. */
  readonly problem_codes?: readonly CheckProblemCode[];
  /** What a user should check before loading, one sentence each. */
  readonly warnings: readonly string[];
  /** The same as records; results of old versions lack it. */
  readonly findings?: readonly CheckFinding[];
  readonly totals: RunTotals;
  /** ISO 8601; `null` means that there is no event. */
  readonly first_time: string | null;
  readonly last_time: string | null;
  /** Day → event → count, of what will be loaded. */
  readonly days: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly events: readonly EventSummary[];
  /** Rejected records in groups, most frequent first. */
  readonly errors: readonly ErrorGroup[];
  readonly duplicates: number;
  /** Of these, how many differ in properties or time from the event that is loaded; results of old versions lack it. */
  readonly changed_duplicates?: number;
  /** Names that the format's table does not translate although they look like the source's own (`$…`, `[Amplitude] …`), with counts. */
  readonly unmapped: {
    readonly events: Readonly<Record<string, number>>;
    readonly properties: Readonly<Record<string, number>>;
  };
  readonly identity: {
    readonly distinct_ids: number;
    /** Whether `distinct_ids` is an estimate, with an error of about 1 %. */
    readonly is_estimated?: boolean;
    readonly identifies: number;
    readonly group_identifies: number;
    /** Anonymous ids that are linked to several persons: shared devices. */
    readonly ids_of_several_persons: readonly { readonly id: string; readonly persons: number }[];
    /** Ids with most events; an outlier is often a default value. */
    readonly busiest: readonly { readonly id: string; readonly events: number }[];
  };
  readonly samples: readonly SamplePair[];
  /** Files, also in archives, that hold no records. Results of old versions lack it. */
  readonly files_left_out?: readonly LeftOutFile[];
  /** Ids, names and times that are not what they look like, and how they are treated; results of old versions lack it. */
  readonly odd_values?: readonly UnusualFinding[];
  /** What readers noted: what the source says is missing, how it was read; results of old versions lack it. */
  readonly notes?: readonly NoteFinding[];
  /** Earlier runs that made different events of the same records; results of old versions lack it. */
  readonly same_records?: readonly SameRecords[];
  /** Runs that are undone before this one loads. */
  readonly replaces?: readonly RunToReplace[];
  /** Replaced runs that were undone before this check. */
  readonly after_replacing?: readonly string[];
}

/** Unusual values of one kind. */
export interface UnusualFinding {
  readonly of: UnusualValue;
  /** The rule in effect, chosen or default. */
  readonly rule: string;
  readonly count: number;
  readonly samples: readonly string[];
  /** What it is and what happens to it; results of old versions lack it. */
  readonly outcome?: string;
  /** `outcome`, and how to choose another rule. */
  readonly detail: string;
}

/** What readers noted about records, summed up. */
export interface NoteFinding extends NoteCount {
  readonly of: NoteCode;
  /** `incomplete` means that the source says something is missing. */
  readonly kind: NoteKind;
  /** One sentence with the figures and what to do. */
  readonly detail: string;
}

/** An earlier run that is undone before this one loads. */
export interface RunToReplace {
  readonly run: string;
  readonly source: string;
  readonly created_at: string;
  readonly state: string;
  /** What its undo would do, as of the check. */
  readonly plan: UndoPlan;
}

/** A file that holds no records: a readme, a manifest. */
export interface LeftOutFile {
  readonly file: string;
  readonly reason: string;
  /** Objects in it, which count as skipped records. */
  readonly records?: number;
}

export interface SamplePair {
  readonly part: string;
  readonly line: number;
  readonly source: unknown;
  readonly events: readonly unknown[];
}

/** What verify found: `verify.json` in staging. */
export interface VerifyResult {
  /**
   * - `exact`: every event is stored completely.
   * - `exact_by_id`: every event is stored with its id, time and name; its properties could not be compared, or may have been changed
   *   by transformations.
   * - `unreadable`: the target does not allow reading what it stored.
   */
  readonly verdict: 'exact' | 'exact_by_id' | 'different' | 'unreadable';
  /** The reason in one sentence; for `unreadable`, what is needed to compare. */
  readonly detail: string;
  readonly expected: number;
  readonly found: number;
  /** Of `found`, events stored by another import or by live capture; the store keeps what came first. Results of old versions lack it. */
  readonly stored_by_others?: number;
  /** Where those come from, most events first, at most 200. Results of old versions lack it. */
  readonly stored_by?: readonly StoredBy[];
  /** Of `stored_by_others`, events with another time than in this run. This is no fault, but each is listed in `differences` as `earlier`. */
  readonly other_times?: number;
  /** Of `stored_by_others`, events with other properties. This is no fault and only counted. */
  readonly other_properties?: number;
  /** Events of this run whose properties transformations may have changed: the contents of their day and name differ. */
  readonly transformed?: number;
  /** Of `expected`, events that the retention of the project has removed since; they are not missing. Results of old versions lack it. */
  readonly expired?: number;
  readonly cells: readonly VerifyCell[];
  /** Individual records, at most 10,000; `truncated` counts the rest. */
  readonly differences: readonly VerifyDifference[];
  readonly truncated: number;
}

/** A run, or live capture, that had stored events of a run first. */
export interface StoredBy {
  /** `null` means live capture. */
  readonly run: string | null;
  /** Slug of its import app; `null` for live capture and for runs that are unknown here. */
  readonly source: string | null;
  readonly created_at: string | null;
  readonly events: number;
}

/** A day and event name with a difference, or whose events have expired. Those that agree are only counted. */
export interface VerifyCell {
  readonly day: string;
  readonly event: string;
  readonly expected: number;
  readonly found: number;
  /** Events that the retention of the project has removed, if any. */
  readonly expired?: number;
}

export interface VerifyDifference {
  /** `earlier`: another run or live capture had stored the event with another time, which remains. */
  readonly kind: 'missing' | 'changed' | 'unexpected' | 'earlier';
  readonly day: string;
  readonly event: string;
  readonly uuid: string;
  readonly distinct_id: string;
  /** One sentence: what was expected, what is stored. */
  readonly detail: string;
}

/** What undoing a run would do: `POST …/runs/:run/undo/` with `dry_run`. Computing it changes nothing. */
export interface UndoPlan {
  /** Stored rows of the run, including those that reads hide because the event had been stored before. */
  readonly rows: number;
  /** Events that reads show as the run's. */
  readonly events: number;
  readonly by_name: Readonly<Record<string, number>>;
  readonly by_day: Readonly<Record<string, number>>;
  readonly distinct_ids: number;
  /** Persons of these ids now; `null` if there are too many ids to look up beforehand. */
  readonly persons: number | null;
  readonly groups: number;
  readonly group_types: readonly string[];
  readonly other_runs: readonly OtherRun[];
  /** What will differ from a history without the run, one sentence each. */
  readonly exceptions: readonly string[];
}

/** Another run of the project that may have had the same events. */
export interface OtherRun {
  readonly id: string;
  readonly state: string;
  /** Days on which both have events; `null` if its days are removed. */
  readonly days_in_common: number | null;
  /**
   * - `loads_again`: it is checked and loaded again from its staged records, and stores what only this run had stored.
   * - `at_work`: the undo waits until it ends.
   * - `not_complete`: it is paused, failed or cancelled; when resumed it loads the rest.
   * - `not_staged`: its staged records are removed, so what it had in common with this run cannot be loaded again.
   */
  readonly what: 'loads_again' | 'at_work' | 'not_complete' | 'not_staged';
}

/** The outcome of an undo: `undo.json` in staging, and `undo` in the run's report. */
export interface UndoResult {
  readonly made_at: string;
  /** The plan before the undo. */
  readonly plan: UndoPlan;
  /** Rows of the run that are still stored: 0. */
  readonly rows_left: number;
  /** Events that are visible again because they had been stored elsewhere too; includes events that arrived for the same days during the undo. */
  readonly events_seen_again: number;
  readonly persons: { readonly before: number; readonly after: number };
  readonly groups: { readonly before: number; readonly after: number; readonly types_removed: number };
  /** What reads showed by day and name before and after. The first 10,000. */
  readonly cells: readonly UndoCell[];
  readonly more_cells: number;
  /** Runs that were queued to load again. */
  readonly loaded_again: readonly string[];
  readonly exceptions: readonly string[];
}

export interface UndoCell {
  readonly day: string;
  readonly event: string;
  readonly before: number;
  readonly taken_back: number;
  readonly after: number;
}
