import type { NoteCounts } from '../formats/record-notes.ts';
import type { DayState, StoredDay } from './import-day.ts';
import type { Run, RunTotals, Stage, StageProgress, Waiting } from './run.ts';
import type { FailureAdvice, SourcePart } from '../source.ts';

/**
 * A run that a worker holds, as its stages see it. Every write is one transaction under the lease while the run is `running`; after a
 * pause, a cancel or a lost lease it throws RunLostError and changes nothing.
 */
export interface LeasedRun {
  /** The run when it was claimed; `stage` and `options` do not change while it is leased. */
  readonly run: Run;
  /** Aborts within a second of a pause, a cancel or a lost lease, and when the program stops. */
  readonly signal: AbortSignal;
  parts(): Promise<readonly StoredPart[]>;
  /** Numbers new parts from 1 in this order; parts with a known key keep their state. */
  addParts(parts: readonly SourcePart[]): Promise<readonly StoredPart[]>;
  savePart(seq: number, change: Partial<PartState> & { readonly bytes?: number | undefined }): Promise<void>;
  days(): Promise<readonly StoredDay[]>;
  saveDay(day: string, change: Partial<DayState>): Promise<void>;
  /** Resets days before a stage starts from scratch: deletes them (check), or resets their progress (load, verify). */
  resetDays(what: 'days' | 'loaded' | 'verified'): Promise<void>;
  /** Reports progress; written at most twice a second, and always the last one. `totals` replaces the given fields. */
  progress(progress: StageProgress, totals?: Partial<RunTotals>): void;
  /** Is shown until the next `progress` or `waiting(null)`. */
  waiting(waiting: Waiting | null): void;
  /** Writes pending progress and waiting. */
  flush(): Promise<void>;
  /** Rejects when the worker no longer holds the run; reads the metadata store. */
  assertHeld(): Promise<void>;
}

export interface StoredPart extends Omit<SourcePart, 'identity' | 'isSnapshot'>, PartState {
  readonly seq: number;
}

export interface PartState {
  /** Identity of what is staged. */
  readonly identity: string | undefined;
  /** Checksum of what was read, if all of it was and the source provides one. */
  readonly checksum: string | undefined;
  /** Segments staged up to now; a part that is neither stable nor `complete` starts from scratch. */
  readonly segments: readonly Segment[];
  /** The whole part is staged. */
  readonly complete: boolean;
  /** Pieces that could not be staged as records; they are in the file of rejected records. */
  readonly faults: number;
  /** Number of checked segments. */
  readonly checked: number;
  /** What the check found in those segments: JSON that only the check stage reads. */
  readonly checkState: string;
  readonly error: string;
}

export interface Segment {
  /** Lines. */
  readonly records: number;
  /** Lines that are not records: blank, or continuing the line before. */
  readonly continued?: number;
  /** Counts of what the reader noted. */
  readonly notes?: NoteCounts;
  /** Before compression. */
  readonly rawBytes: number;
  readonly bytes: number;
  /** Checksum of the staged file. */
  readonly sha256: string;
}

/** Counts source records in the segments, as opposed to lines. */
export function recordsIn(segments: readonly Pick<Segment, 'records' | 'continued'>[]): number {
  return segments.reduce((sum, { records, continued = 0 }) => sum + records - continued, 0);
}

/** The run was paused or cancelled, or another worker holds it: stop immediately and write nothing. */
export class RunLostError extends Error {
  override name = 'RunLostError';
}

/** The run cannot continue. The message becomes its `reason`: what was expected, what came, what to do; `advice` is appended. */
export class RunFailedError extends Error {
  override name = 'RunFailedError';
  readonly advice: FailureAdvice | undefined;

  constructor(message: string, options: { readonly advice?: FailureAdvice; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.advice = options.advice;
  }
}

/** Resolves when the stage is done. It may be called again after any crash, and continues where it was. */
export type RunStage = (leased: LeasedRun) => Promise<void>;
export type RunStages = Readonly<Record<Stage, RunStage>>;
