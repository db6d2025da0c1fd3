import type { NoteCounts } from '../formats/record-notes.ts';
import type { DayState, StoredDay } from './import-day.ts';
import type { Run, RunTotals, Stage, StageProgress, Waiting } from './run.ts';
import type { FailureAdvice, SourcePart } from '../source.ts';

/**
 * A run in the hands of a worker: what the stages see of the metadata store. Every write happens under the lease and while the
 * run is `running`, in one transaction each; after a pause, a cancel or a lost lease it throws RunLostError and changes nothing.
 */
export interface LeasedRun {
  /** As it was claimed; `stage` and `options` do not change while it is leased. */
  readonly run: Run;
  /** Aborted within a second of a pause, a cancel or a lost lease, and when the program stops. */
  readonly signal: AbortSignal;
  parts(): Promise<readonly StoredPart[]>;
  /** Numbers parts from 1 in this order; keys that are known stay as they are. */
  addParts(parts: readonly SourcePart[]): Promise<readonly StoredPart[]>;
  savePart(seq: number, change: Partial<PartState> & { readonly bytes?: number | undefined }): Promise<void>;
  days(): Promise<readonly StoredDay[]>;
  saveDay(day: string, change: Partial<DayState>): Promise<void>;
  /** Before a stage is done anew: forgets days (check), or how far they came (load, verify). */
  resetDays(what: 'days' | 'loaded' | 'verified'): Promise<void>;
  /** What people see; written at most twice a second, the last one always. Totals given replace those that were there. */
  progress(progress: StageProgress, totals?: Partial<RunTotals>): void;
  /** Shown until the next `progress` or `waiting(null)`. */
  waiting(waiting: Waiting | null): void;
  /** Writes what `progress` and `waiting` put off. */
  flush(): Promise<void>;
  /** Rejects when the run is not in the worker's hands any more; asks the metadata store. */
  assertHeld(): Promise<void>;
}

export interface StoredPart extends Omit<SourcePart, 'identity' | 'isSnapshot'>, PartState {
  readonly seq: number;
}

export interface PartState {
  /** Of what is staged. */
  readonly identity: string | undefined;
  /** Of what was read, when all of it was and the source tells. */
  readonly checksum: string | undefined;
  /** Staged so far; a part that is not stable and not `complete` starts anew. */
  readonly segments: readonly Segment[];
  /** Everything of it is staged. */
  readonly complete: boolean;
  /** Pieces that could not be staged as records; in the file of rejected records. */
  readonly faults: number;
  /** Segments that the check is done with. */
  readonly checked: number;
  /** What the check found in those segments: JSON of the check stage's own. */
  readonly checkState: string;
  readonly error: string;
}

export interface Segment {
  /** Lines. */
  readonly records: number;
  /** Of these lines, those that are no record: blank, or continuing the one before them; undefined: none. */
  readonly continued?: number;
  /** What was noted while they were read. */
  readonly notes?: NoteCounts;
  /** Before compression. */
  readonly rawBytes: number;
  readonly bytes: number;
  /** Of the file in staging. */
  readonly sha256: string;
}

/** Records of the source in the segments, other than lines. */
export function recordsIn(segments: readonly Pick<Segment, 'records' | 'continued'>[]): number {
  return segments.reduce((sum, { records, continued = 0 }) => sum + records - continued, 0);
}

/** Somebody paused or cancelled the run, or another worker has it: stop at once, write nothing. */
export class RunLostError extends Error {
  override name = 'RunLostError';
}

/** The run cannot go on; the message is its `reason`: what was expected, what came, what to do. `advice` is added to it. */
export class RunFailedError extends Error {
  override name = 'RunFailedError';
  readonly advice: FailureAdvice | undefined;

  constructor(message: string, options: { readonly advice?: FailureAdvice; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.advice = options.advice;
  }
}

/** One stage. Resolves when it is done; may be called again after any crash and goes on where it was. */
export type RunStage = (leased: LeasedRun) => Promise<void>;
export type RunStages = Readonly<Record<Stage, RunStage>>;
