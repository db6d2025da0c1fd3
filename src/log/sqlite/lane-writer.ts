import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordSize } from '../backlog-queue.ts';
import type { Lane } from '../eventlog.ts';
import { messageOf, segmentFileName, seqJump, seqSkip, sqliteFailure } from './format.ts';
import {
  createSegment,
  listSegments,
  openSegment,
  removeOrphans,
  removeSegment,
  syncDirectory,
  type NewRow,
  type Segment,
} from './segment.ts';
import type { SharedPositions } from './shared-positions.ts';

/** Maximum of rows deleted per commit, so that draining a backlog never delays an append for long. */
const deletedRowsMax = 4096;

/** A segment exceeds its limit by at most 1/64. */
const measuredPerSegment = 64;

export interface LaneWriterOptions {
  readonly dir: string;
  readonly lane: Lane;
  /** A segment that uses more is closed and a new one started. */
  readonly segmentBytes: number;
  /** A drained file above this size is replaced, which frees its space. */
  readonly drainedFileBytes: number;
  /** The consumer's cursor: everything up to it is stored. */
  readonly committed: number;
  readonly positions: SharedPositions;
  /** Receives messages for the operator. */
  readonly onProblem: (sentence: string) => void;
}

interface Newest {
  readonly segment: Segment;
  readonly nextSeq: number;
  /** Highest readable seq. */
  readonly appended: number;
}

/**
 * Writes one lane: the segment files in `<dir>/<lane>/`. The newest takes appends, and consumed rows are deleted from it; older ones
 * are unlinked once all of their records are consumed. All calls block until the disk has finished.
 */
export class LaneWriter {
  readonly #options: LaneWriterOptions;
  readonly #dir: string;
  /** Older segments, ascending. */
  #older: number[] = [];
  #current: Segment;
  #nextSeq: number;
  #deletedThrough: number;
  #isFull = false;
  /** Body bytes written since the size of the file was measured. */
  #unmeasuredBytes = 0;
  /** Segments whose damage was reported. */
  readonly #reportedDamage = new Set<number>();
  /** Set after a failure other than a full disk: the handle must be repaired before use. */
  #needsRepair = false;

  /** @throws LogOpenError, or an error of the files */
  constructor(options: LaneWriterOptions) {
    this.#options = options;
    this.#dir = join(options.dir, options.lane);
    mkdirSync(this.#dir, { recursive: true });
    syncDirectory(options.dir);
    removeOrphans(this.#dir);
    const { segment, nextSeq, appended } = this.#openNewest(listSegments(this.#dir));
    this.#current = segment;
    this.#nextSeq = nextSeq;
    this.#deletedThrough = (segment.minSeq() ?? nextSeq) - 1;
    this.#older = listSegments(this.#dir).filter((firstSeq) => firstSeq < segment.firstSeq);
    options.positions.setConsumed(options.lane, options.committed);
    options.positions.setAppended(options.lane, appended);
  }

  /** Makes all rows durable and readable and returns the seq of the first; throws if none of them is durable. */
  append(rows: readonly NewRow[]): number {
    if (this.#needsRepair) this.#repair();
    if (this.#isFull) this.#rotate();
    const firstSeq = this.#nextSeq;
    // Even on failure: a number is never tried twice.
    this.#nextSeq += rows.length;
    this.#write(firstSeq, rows, firstSeq - 1);
    // Nothing below may throw, since the rows are durable.
    this.#options.positions.setAppended(this.#options.lane, this.#nextSeq - 1);
    for (const { body } of rows) this.#unmeasuredBytes += body.byteLength;
    this.#isFull = this.#usesTooMuch();
    return firstSeq;
  }

  /** Frees space while nothing is appended. Returns whether there is more to do. Throws when the disk fails. */
  tidy(): boolean {
    if (this.#needsRepair) this.#repair();
    this.#unlinkConsumed();
    try {
      return this.#shrinkCurrent();
    } catch (error) {
      // Deleting needs space temporarily. Without any, a drained file can still be removed as a whole.
      const failure = sqliteFailure(error);
      if (!this.#isDrained() || (failure !== 'full' && failure !== 'cannot-open')) throw error;
      this.#replaceDrained();
      return false;
    }
  }

  /** Begins a new file, so that the older ones are removed once their records are stored. Returns its first seq. */
  replaceFile(): number {
    if (this.#needsRepair) this.#repair();
    if (this.#nextSeq > this.#current.firstSeq) this.#rotate();
    return this.#current.firstSeq;
  }

  /** Whether a file exists that was begun before the one of this seq. */
  hasOlder(firstSeq: number): boolean {
    return this.#older.some((older) => older < firstSeq) || this.#current.firstSeq < firstSeq;
  }

  /** Yields the size of every record beyond the committed cursor, oldest first, except those in damaged pages. */
  *waiting(): Generator<RecordSize> {
    for (const firstSeq of this.#older) {
      const segment = this.#unlessDamaged(firstSeq, () => openSegment(this.#dir, firstSeq));
      if (segment === undefined) continue;
      try {
        yield* this.#sizesIn(segment);
      } finally {
        segment.close();
      }
    }
    yield* this.#sizesIn(this.#current);
  }

  *#sizesIn(segment: Segment): Generator<RecordSize> {
    const sizes = segment.sizes(this.#options.committed)[Symbol.iterator]();
    for (;;) {
      const next = this.#unlessDamaged(segment.firstSeq, () => sizes.next());
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  }

  #unlessDamaged<T>(firstSeq: number, action: () => T): T | undefined {
    try {
      return action();
    } catch (error) {
      if (sqliteFailure(error) !== 'damaged') throw error;
      this.#reportDamage(firstSeq, error);
      return undefined;
    }
  }

  close(): void {
    this.#current.close();
  }

  /** Returns the number of rows deleted. */
  #write(firstSeq: number, rows: readonly NewRow[], newestDeletable: number): number {
    const through = this.#deletable(newestDeletable);
    try {
      const deleted = this.#current.write(through > this.#deletedThrough ? through : undefined, firstSeq, rows);
      this.#deletedThrough = Math.max(this.#deletedThrough, through);
      return deleted;
    } catch (error) {
      this.#recoverFrom(error, firstSeq, rows);
      return 0;
    }
  }

  /** Rethrows `error` unless a new file takes the rows. */
  #recoverFrom(error: unknown, firstSeq: number, rows: readonly NewRow[]): void {
    if (sqliteFailure(error) === 'damaged') {
      this.#reportDamage(this.#current.firstSeq, error);
      this.#rotate(firstSeq);
      this.#needsRepair = true;
      this.#current.write(undefined, firstSeq, rows);
      this.#needsRepair = false;
      return;
    }
    this.#needsRepair = true;
    try {
      // With a full disk the handle is intact, and another one could not be opened.
      if (sqliteFailure(error) === 'full') this.#discard();
      else this.#repair();
    } catch (repairError) {
      const path = this.#pathOf(this.#current.firstSeq);
      this.#options.onProblem(`${path} could not be repaired yet: ${messageOf(repairError)}`);
    }
    throw error;
  }

  #usesTooMuch(): boolean {
    // Measuring takes as long as a small commit.
    if (this.#unmeasuredBytes * measuredPerSegment < this.#options.segmentBytes) return false;
    this.#unmeasuredBytes = 0;
    try {
      return this.#current.usedBytes() >= this.#options.segmentBytes;
    } catch {
      // If not even the size can be read, the next write fails in the same way and handles it.
      return false;
    }
  }

  #shrinkCurrent(): boolean {
    const isEmpty = this.#nextSeq === this.#current.firstSeq;
    if (!isEmpty && this.#isDrained() && this.#current.fileBytes() > this.#options.drainedFileBytes) {
      this.#rotate();
      this.#unlinkConsumed();
      return false;
    }
    // The newest row stays, because it preserves the numbering.
    const newest = this.#options.positions.appended(this.#options.lane) - 1;
    if (this.#deletable(newest) <= this.#deletedThrough) return false;
    const deleted = this.#write(this.#nextSeq, [], newest);
    // After a gap in the numbering, continue behind it.
    if (deleted === 0) this.#deletedThrough = (this.#current.minSeq() ?? this.#nextSeq) - 1;
    return this.#deletable(newest) > this.#deletedThrough;
  }

  #isDrained(): boolean {
    const { positions, lane } = this.#options;
    return positions.consumed(lane) >= positions.appended(lane);
  }

  /** Unlinks before it creates. After a crash in between, the consumer's cursor preserves the numbering. */
  #replaceDrained(): void {
    this.#needsRepair = true;
    this.#current.close();
    this.#repair();
  }

  #deletable(newest: number): number {
    const { positions, lane } = this.#options;
    return Math.min(positions.consumed(lane), newest, this.#deletedThrough + deletedRowsMax);
  }

  /** Truncates what a failed commit left behind. Throws while the disk prevents it. */
  #discard(): void {
    if (this.#current.isOpen()) this.#current.discardUncommitted();
    this.#needsRepair = false;
  }

  /** Discards, then reopens the file, or starts another one if no record waits in it. */
  #repair(): void {
    this.#discard();
    this.#needsRepair = true;
    this.#current.close();
    const exists = existsSync(this.#pathOf(this.#current.firstSeq));
    const reopened = exists && !this.#isDrained() ? openSegment(this.#dir, this.#current.firstSeq) : undefined;
    if (reopened === undefined) this.#recreate();
    else this.#current = reopened;
    this.#needsRepair = false;
  }

  /** Requires that the current file is closed and contains no waiting record. */
  #recreate(firstSeq = this.#nextSeq): void {
    this.#needsRepair = true;
    removeSegment(this.#dir, this.#current.firstSeq);
    this.#begin(createSegment(this.#dir, firstSeq));
    this.#needsRepair = false;
  }

  /** Creates the new file durably before the old one may be removed: its name continues the numbering. */
  #rotate(firstSeq = this.#nextSeq): void {
    if (firstSeq === this.#current.firstSeq) {
      // It never contained a record.
      this.#current.close();
      this.#recreate(firstSeq);
      return;
    }
    const old = this.#current;
    this.#begin(createSegment(this.#dir, firstSeq));
    this.#older.push(old.firstSeq);
    old.close();
  }

  #begin(segment: Segment): void {
    this.#current = segment;
    this.#deletedThrough = segment.firstSeq - 1;
    this.#isFull = false;
    this.#unmeasuredBytes = 0;
  }

  #unlinkConsumed(): void {
    const consumed = this.#options.positions.consumed(this.#options.lane);
    // The numbering may have a gap before the next file, which nothing ever consumes.
    const isDrained = this.#isDrained();
    for (;;) {
      const [oldest] = this.#older;
      if (oldest === undefined || (!isDrained && (this.#older[1] ?? this.#current.firstSeq) - 1 > consumed)) return;
      removeSegment(this.#dir, oldest);
      this.#older.shift();
    }
  }

  #openNewest(known: readonly number[]): Newest {
    const { committed } = this.#options;
    const newest = known.at(-1);
    if (newest === undefined) return this.#beginAt(committed > 0 ? committed + seqJump : 1);
    const wasClosed = !existsSync(`${this.#pathOf(newest)}-wal`);
    try {
      const segment = openSegment(this.#dir, newest);
      if (segment === undefined) {
        removeSegment(this.#dir, newest);
        return this.#openNewest(known.slice(0, -1));
      }
      const lastSeq = Math.max(segment.lastSeq() ?? 0, newest - 1);
      if (committed <= lastSeq) {
        return { segment, nextSeq: lastSeq + 1 + (wasClosed ? 0 : seqSkip), appended: lastSeq };
      }
      // The cursor is ahead of the files (lost, or an older copy): rows may already be stored under the numbers after it.
      segment.close();
      return this.#beginAt(committed + seqJump);
    } catch (error) {
      if (sqliteFailure(error) !== 'damaged') throw error;
      this.#reportDamage(newest, error);
      return this.#beginAt(Math.max(newest, committed) + seqJump);
    }
  }

  #beginAt(nextSeq: number): Newest {
    return { segment: createSegment(this.#dir, nextSeq), nextSeq, appended: nextSeq - 1 };
  }

  #reportDamage(firstSeq: number, error: unknown): void {
    if (this.#reportedDamage.has(firstSeq)) return;
    this.#reportedDamage.add(firstSeq);
    this.#options.onProblem(
      `${this.#pathOf(firstSeq)} is damaged (${messageOf(error)}): what is readable in it is processed, the rest ` +
        'becomes dead letters, and new records go to a new file if this one accepts none. Check the disk.',
    );
  }

  #pathOf(firstSeq: number): string {
    return join(this.#dir, segmentFileName(firstSeq));
  }
}
