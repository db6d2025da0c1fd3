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
