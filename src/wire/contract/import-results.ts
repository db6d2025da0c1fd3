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
