import type { CheckProblemCode } from '../../wire/contract/import-runs.ts';
import type { ErrorGroup, EventSummary } from '../../wire/contract/import-results.ts';
import type { NoteCode, NoteCount, NoteKind } from '../formats/record-notes.ts';
import type { UnusualValue } from '../../wire/contract/unusual-values.ts';
import type { RunTotals } from './run.ts';

/** What the check found: `check.json` in staging, `GET …/runs/:run/check/`. */
export interface CheckResult {
  readonly verdict: 'passed' | 'failed';
  /** Why it failed: one sentence each. */
  readonly problems: readonly string[];
  /** Which of the problems each is; results of old versions lack it. */
  readonly problem_codes?: readonly CheckProblemCode[];
  /** What somebody should look at before loading: one sentence each. */
  readonly warnings: readonly string[];
  readonly totals: RunTotals;
  /** ISO 8601; null: no event. */
  readonly first_time: string | null;
  readonly last_time: string | null;
  /** Day → event → count, of what will be loaded. */
  readonly days: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly events: readonly EventSummary[];
  /** Rejected, grouped: most frequent first. */
  readonly errors: readonly ErrorGroup[];
  readonly duplicates: number;
  /** Of these: with other properties or another time than the event that is loaded; results of old versions lack it. */
  readonly changed_duplicates?: number;
  /** Names that the table of the format does not translate though they look like the source's own (`$…`, `[Amplitude] …`); with counts. */
  readonly unmapped: {
    readonly events: Readonly<Record<string, number>>;
    readonly properties: Readonly<Record<string, number>>;
  };
  readonly identity: {
    readonly distinct_ids: number;
    readonly identifies: number;
    readonly group_identifies: number;
    /** Anonymous ids that were tied to more than one person: shared devices. */
    readonly ids_of_several_persons: readonly { readonly id: string; readonly persons: number }[];
    /** Ids with most events; one that stands out is often a default value. */
    readonly busiest: readonly { readonly id: string; readonly events: number }[];
  };
  readonly samples: readonly SamplePair[];
  /** Files among others, and in archives, that hold no records. Results of old versions lack it. */
  readonly files_left_out?: readonly LeftOutFile[];
  /** Ids, names and times that are not what they look like, and what becomes of them; results of old versions lack it. */
  readonly odd_values?: readonly UnusualFinding[];
  /** What readers noted beside the events: what the source says is missing, how it was read; results of old versions lack it. */
  readonly notes?: readonly NoteFinding[];
  /** Earlier runs that made other events of the same records; results of old versions lack it. */
  readonly same_records?: readonly SameRecords[];
  /** Runs that are taken back before this one loads; absent: none. */
  readonly replaces?: readonly RunToReplace[];
  /** Runs that this one replaces and that were undone before this check; absent: the check came first. */
  readonly after_replacing?: readonly string[];
}

/** Odd values of one kind. */
export interface UnusualFinding {
  readonly of: UnusualValue;
  /** The one that holds, chosen or not. */
  readonly rule: string;
  readonly count: number;
  readonly samples: readonly string[];
  /** What it is and what happens to it; results of old versions lack it. */
  readonly outcome?: string;
  /** The same, and how another rule is chosen. */
  readonly detail: string;
}

/** What readers noted at records, added up. */
export interface NoteFinding extends NoteCount {
  readonly of: NoteCode;
  /** `incomplete`: the source says that something is missing. */
  readonly kind: NoteKind;
  /** One sentence, with the figures and what to do. */
  readonly detail: string;
}

/** An earlier run that loaded events of the same records to the same place, made of them in another way. */
export interface SameRecords {
  readonly run: string;
  readonly created_at: string;
  /** Records of the source that both have. */
  readonly records: number;
  /** Events that it loaded. */
  readonly loaded: number;
  /** Events of this run, by day and name, that differ from what it made: they would be stored beside them. */
  readonly again: number;
  /** The run itself is removed: it cannot be taken back, and all events of this run count in `again`. */
  readonly removed?: boolean;
  /** Of a run of the command line: whether its service can take it back. Absent: what is stored in this project can be. */
  readonly undoable?: boolean;
}

/** An earlier run that is taken back before this one loads. */
export interface RunToReplace {
  readonly run: string;
  readonly source: string;
  readonly created_at: string;
  readonly state: string;
  /** What taking it back would do, when the check was made. */
  readonly plan: UndoPlan;
}

/** A file among others that holds no records: a readme, a manifest. */
export interface LeftOutFile {
  readonly file: string;
  readonly reason: string;
  /** Objects in it, which count as skipped records. Undefined: none. */
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
   * - `exact`: every event is stored whole.
   * - `exact_by_id`: every event is stored with its id, time and name; its properties could not be compared, or transformations
   *   may have changed them.
   * - `unreadable`: the target lets nobody read what it stored.
   */
  readonly verdict: 'exact' | 'exact_by_id' | 'different' | 'unreadable';
  /** Why, in a sentence; for `unreadable` what to give so that it can be done. */
  readonly detail: string;
  readonly expected: number;
  readonly found: number;
  /** Of `found`: stored by another import or by live capture; the store keeps what came first. Results of old versions lack it. */
  readonly stored_by_others?: number;
  /** Who stored those: most of them first, at most 200. Results of old versions lack it. */
  readonly stored_by?: readonly StoredBy[];
  /** Of these: with another time than this run has for them. No fault, but each is in `differences`, as `earlier`. */
  readonly other_times?: number;
  /** Of those by others: with other properties. No fault, and only counted. */
  readonly other_properties?: number;
  /** Stored by this run, perhaps with other properties than it sent: transformations are active, and contents of their day and name differ. */
  readonly transformed?: number;
  readonly cells: readonly VerifyCell[];
  /** To the record, at most 10,000; `truncated` says how many more there are. */
  readonly differences: readonly VerifyDifference[];
  readonly truncated: number;
}

/** A day and an event name of which something differs. Those that agree are only counted. */
/** Who had stored events of a run before it did. */
export interface StoredBy {
  /** Null: live capture. */
  readonly run: string | null;
  /** Slug of its import app; null: live capture, or a run that is not known here. */
  readonly source: string | null;
  readonly created_at: string | null;
  readonly events: number;
}

export interface VerifyCell {
  readonly day: string;
  readonly event: string;
  readonly expected: number;
  readonly found: number;
}

export interface VerifyDifference {
  /** `earlier`: somebody else stored the same event with another time before; that is what stays. */
  readonly kind: 'missing' | 'changed' | 'unexpected' | 'earlier';
  readonly day: string;
  readonly event: string;
  readonly uuid: string;
  readonly distinct_id: string;
  /** One sentence: what was expected, what is stored. */
  readonly detail: string;
}

/** What taking back a run would do: `POST …/runs/:run/undo/` with `dry_run`. Nothing is changed by finding out. */
export interface UndoPlan {
  /** Rows of the run in the store, those included that reads hide because somebody else stored the event first. */
  readonly rows: number;
  /** Events that reads show as the run's. */
  readonly events: number;
  readonly by_name: Readonly<Record<string, number>>;
  readonly by_day: Readonly<Record<string, number>>;
  readonly distinct_ids: number;
  /** Persons that these ids are now; null: too many ids to look each of them up beforehand. */
  readonly persons: number | null;
  readonly groups: number;
  readonly group_types: readonly string[];
  readonly other_runs: readonly OtherRun[];
  /** What will not be as if the run had never been: one sentence each. */
  readonly exceptions: readonly string[];
}

/** Another run of the project that may have had the same events. */
export interface OtherRun {
  readonly id: string;
  readonly state: string;
  /** Days on which both have events; null: its days are removed. */
  readonly days_in_common: number | null;
  /**
   * - `loads_again`: it is checked and loaded once more from what it staged, and gets in what only this run had stored.
   * - `at_work`: the undo waits until it is done.
   * - `not_complete`: it is paused, failed or cancelled; resumed, it loads what it has not loaded.
   * - `not_staged`: what it staged is removed, so what it had in common with this run cannot be loaded again.
   */
  readonly what: 'loads_again' | 'at_work' | 'not_complete' | 'not_staged';
}

/** What taking back a run came to: `undo.json` in staging, and `undo` in its report. */
export interface UndoResult {
  readonly made_at: string;
  /** What was found beforehand. */
  readonly plan: UndoPlan;
  /** Rows of the run that are left: none. */
  readonly rows_left: number;
  /** Events that are seen again because somebody else had stored them too; with what came in meanwhile on the same days. */
  readonly events_seen_again: number;
  readonly persons: { readonly before: number; readonly after: number };
  readonly groups: { readonly before: number; readonly after: number; readonly types_removed: number };
  /** By day and name: what reads showed before and show now. The first 10,000. */
  readonly cells: readonly UndoCell[];
  readonly more_cells: number;
  /** Runs that were told to load again. */
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
