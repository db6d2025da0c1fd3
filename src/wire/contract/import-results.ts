/** Parts of what the check of an import run found, which its API and the console show. */

export interface EventSummary {
  readonly event: string;
  readonly count: number;
  readonly first_time: string;
  readonly last_time: string;
  /** The project does not know the name yet; undefined: nobody can tell (the target cannot be read). */
  readonly is_new?: boolean;
}

/** Records that were rejected for the same reason. */
export interface ErrorGroup {
  readonly code: string;
  readonly reason: string;
  readonly count: number;
  readonly example: { readonly part: string; readonly line: number; readonly original: string };
}
