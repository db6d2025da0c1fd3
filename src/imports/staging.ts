/**
 * Port: stores the files of a run between stages, in a directory or an S3-compatible bucket. Keys are relative paths of
 * `[a-zA-Z0-9_.=-]` and `/`, and begin with the run's id.
 *
 * Guarantees (checked by test/conformance/staging for every adapter)
 * - `write` shows nothing until it resolves, and then everything, also after a kill; writing the same key again replaces it.
 * - `read` returns the bytes that were written.
 */
export interface Staging {
  write(key: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Written>;
  /** Throws StagingMissingError if the file does not exist. `range` is half open, in bytes. */
  read(key: string, range?: { readonly start: number; readonly end: number }): AsyncIterable<Buffer>;
  /** Lists keys with this prefix, sorted, with their sizes. */
  list(prefix: string): Promise<readonly { readonly key: string; readonly bytes: number }[]>;
  /** Removes all keys with this prefix, if any. */
  remove(prefix: string): Promise<void>;
  /** For messages: `the directory ./data/imports`. */
  readonly description: string;
}

export interface Written {
  readonly bytes: number;
  /** Hex, of the bytes as written. */
  readonly sha256: string;
}

export class StagingMissingError extends Error {
  override name = 'StagingMissingError';
}

/** Prefix of uploaded files; no run has such an id. */
export const uploadsPrefix = 'uploads/';
/** Prefix of exported files in a bucket. */
export const exportsPrefix = 'exports/';

/** The names of a run's files. */
export const stagingKeys = {
  /** Source records in their original form, NDJSON, zstd. */
  segment: (run: string, part: number, segment: number) => `${run}/parts/${pad(part)}/${pad(segment)}.ndjson.zst`,
  /** What the check found in one segment (JSON), and what it passes to the check of the others. */
  findings: (run: string, part: number, segment: number) => `${run}/checked/${pad(part)}-${pad(segment)}.findings.json`,
  handOver: (run: string, part: number, segment: number) => `${run}/checked/${pad(part)}-${pad(segment)}.hand-over`,
  /** Tracking plan with which the check began (JSON, PlanText or null). */
  checkedPlan: (run: string) => `${run}/checked/plan.json`,
  /** Rejected records, NDJSON of RejectedRecord, zstd; `origin`: `export-00001`, `check-00001-00002`, `load-2024-03-01-3`. */
  rejected: (run: string, origin: string) => `${run}/rejected/${origin}.ndjson.zst`,
  /** Rows of a joined table, NDJSON, zstd. */
  table: (run: string, index: number) => `${run}/tables/${pad(index)}.ndjson.zst`,
  /** Files without records that the export of one part skipped (JSON, LeftOutFile[]). */
  leftOut: (run: string, part: number) => `${run}/left-out/${pad(part)}.json`,
  /** Result of the preflight (JSON, PreflightResult). */
  preflight: (run: string) => `${run}/preflight.json`,
  /** Results of check (JSON, CheckResult) and verify (VerifyResult), and the report in both forms. */
  check: (run: string) => `${run}/check.json`,
  /** See stages/load/pending-facts.ts. */
  pendingFacts: (run: string) => `${run}/pending-facts.json`,
  verify: (run: string) => `${run}/verify.json`,
  /** Result of the undo (JSON, UndoResult). */
  undo: (run: string) => `${run}/undo.json`,
  report: (run: string, form: 'json' | 'html') => `${run}/report.${form}`,
} as const;

function pad(index: number): string {
  return String(index).padStart(6, '0');
}

/** One line of a file of rejected records. */
export interface RejectedRecord {
  /** Key of the source's part; empty if it is no longer known. */
  readonly part: string;
  /** Line of the part, from 1; 0 if it is not a line (see `place`). */
  readonly line: number;
  readonly place?: string;
  /** A line without a record is staged in its place. */
  readonly held?: true;
  readonly stage: 'export' | 'check' | 'load';
  readonly code: string;
  readonly reason: string;
  /** The source's record as text; in `load` the event as it was sent. */
  readonly original: string;
}
