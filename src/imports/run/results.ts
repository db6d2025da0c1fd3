import type { RunTotals } from './run.ts';

/** What the check found: `check.json` in staging, `GET …/runs/:run/check/`. */
export interface CheckResult {
  readonly verdict: 'passed' | 'failed';
  /** Why it failed: one sentence each. */
  readonly problems: readonly string[];
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
}

export interface EventSummary {
  readonly event: string;
  readonly count: number;
  readonly first_time: string;
  readonly last_time: string;
  /** The project does not know the name yet; undefined: nobody can tell (the target cannot be read). */
  readonly is_new?: boolean;
}

export interface ErrorGroup {
  readonly code: string;
  readonly reason: string;
  readonly count: number;
  readonly example: { readonly part: string; readonly line: number; readonly original: string };
}

export interface SamplePair {
  readonly part: string;
  readonly line: number;
  readonly source: unknown;
  readonly events: readonly unknown[];
}

/** What verify found: `verify.json` in staging. */
export interface VerifyResult {
  /** `unreadable`: the target lets nobody read what it stored. */
  readonly verdict: 'exact' | 'different' | 'unreadable';
  /** Why, in a sentence; for `unreadable` what to give so that it can be done. */
  readonly detail: string;
  readonly expected: number;
  readonly found: number;
  /** Of `found`: stored by another import or by live capture; the store keeps what came first. Results of old versions lack it. */
  readonly stored_by_others?: number;
  /** Of these: with another time than this run has for them. No fault, but each is in `differences`, as `earlier`. */
  readonly other_times?: number;
  readonly cells: readonly VerifyCell[];
  /** To the record, at most 10,000; `truncated` says how many more there are. */
  readonly differences: readonly VerifyDifference[];
  readonly truncated: number;
}

/** A day and an event name of which something differs. Those that agree are only counted. */
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
