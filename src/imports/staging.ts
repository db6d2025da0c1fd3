/**
 * Port: where the files of a run lie between the stages: a directory or an S3-compatible bucket. Keys are relative paths of
 * `[a-zA-Z0-9_.=-]` and `/`, and begin with the run's id.
 *
 * Promises (checked by test/conformance/staging for every adapter)
 * - `write` shows nothing until it resolves, and then everything, also after a kill; the same key again replaces it.
 * - `read` gives the bytes that were written.
 */
export interface Staging {
  write(key: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Written>;
  /** Throws StagingMissingError when there is no such file. `range` half open, in bytes. */
  read(key: string, range?: { readonly start: number; readonly end: number }): AsyncIterable<Buffer>;
  /** Keys that begin so, sorted, with their sizes. */
  list(prefix: string): Promise<readonly { readonly key: string; readonly bytes: number }[]>;
  /** All keys that begin so. None is no error. */
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

/** Below it lie uploaded files; no run has such an id. */
export const uploadsPrefix = 'uploads/';

/** The names of a run's files. */
export const stagingKeys = {
  /** Source records as they came, NDJSON, zstd. */
  segment: (run: string, part: number, segment: number) => `${run}/parts/${pad(part)}/${pad(segment)}.ndjson.zst`,
  /** What the check found in one segment (JSON); and what it tells the check of the others. */
  findings: (run: string, part: number, segment: number) => `${run}/checked/${pad(part)}-${pad(segment)}.findings.json`,
  handOver: (run: string, part: number, segment: number) => `${run}/checked/${pad(part)}-${pad(segment)}.hand-over`,
  /** Rejected records, NDJSON of RejectedRecord, zstd; `origin`: `export-00001`, `check-00001-00002`, `load-2024-03-01-3`. */
  rejected: (run: string, origin: string) => `${run}/rejected/${origin}.ndjson.zst`,
  /** A table that is joined: its rows, NDJSON, zstd. */
  table: (run: string, index: number) => `${run}/tables/${pad(index)}.ndjson.zst`,
  /** Files without records that the export left out of one part (JSON, LeftOutFile[]). */
  leftOut: (run: string, part: number) => `${run}/left-out/${pad(part)}.json`,
  /** What was found before the export (JSON, PreflightResult). */
  preflight: (run: string) => `${run}/preflight.json`,
  /** What the check found (JSON, CheckResult), what verify found (VerifyResult), the report in both forms. */
  check: (run: string) => `${run}/check.json`,
  /** See stages/load/pending-facts.ts. */
  pendingFacts: (run: string) => `${run}/pending-facts.json`,
  verify: (run: string) => `${run}/verify.json`,
  /** What taking the run back came to (JSON, UndoResult). */
  undo: (run: string) => `${run}/undo.json`,
  report: (run: string, form: 'json' | 'html') => `${run}/report.${form}`,
} as const;

function pad(index: number): string {
  return String(index).padStart(6, '0');
}

/** One line of a file of rejected records. */
export interface RejectedRecord {
  /** Key of the source's part; empty: not known any more. */
  readonly part: string;
  /** From 1, in the part. 0: not a line (see `place`). */
  readonly line: number;
  readonly place?: string;
  /** A line without a record is staged in its stead. */
  readonly held?: true;
  readonly stage: 'export' | 'check' | 'load';
  readonly code: string;
  readonly reason: string;
  /** The bytes of the source's record as text; in `load` the event as it was sent. */
  readonly original: string;
}
