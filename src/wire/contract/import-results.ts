/** Results of an import run's check, for API and console. */

export interface EventSummary {
  readonly event: string;
  readonly count: number;
  readonly first_time: string;
  readonly last_time: string;
  /** The project does not contain the name yet. `undefined` if the target cannot be read. */
  readonly is_new?: boolean;
}

/** Records rejected for the same reason. */
export interface ErrorGroup {
  readonly code: string;
  readonly reason: string;
  readonly count: number;
  readonly example: { readonly part: string; readonly line: number; readonly original: string };
}

/** What a user should review before loading: one kind of finding, with how often and where it occurs. */
export interface CheckFinding {
  /** A kind of unusual value, `identity` for devices with several users, or another code. */
  readonly code: string;
  /** `null` if it is not a count. */
  readonly count: number | null;
  readonly samples: readonly string[];
  /** What it is and what happens to it, in one sentence. */
  readonly detail: string;
  /** The rule in effect; absent where no rule applies. */
  readonly rule?: string;
  /** Rules that the records of the run's format allow. */
  readonly rules?: readonly string[];
}

/** An earlier run that loaded events of the same records to the same place, but converted them differently. */
export interface SameRecords {
  readonly run: string;
  readonly created_at: string;
  /** Source records that both have. */
  readonly records: number;
  /** Events that the earlier run loaded. */
  readonly loaded: number;
  /** Events of this run that differ from the earlier ones by day and name, and would be stored in addition. */
  readonly again: number;
  /** The earlier run is removed: it cannot be undone, and all events of this run count in `again`. */
  readonly removed?: boolean;
  /** For a run of the command line, whether its service can undo it. Absent for runs in this project, which can be undone. */
  readonly undoable?: boolean;
}
