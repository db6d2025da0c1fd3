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

/** Rows deleted in one commit at most, so that draining a backlog never delays an append for long. */
const deletedRowsMax = 4096;

/** A segment grows beyond its limit by no more than this part of it. */
const measuredPerSegment = 64;

export interface LaneWriterOptions {
  readonly dir: string;
  readonly lane: Lane;
  /** A segment that uses more is closed and a new one begun. */
  readonly segmentBytes: number;
  /** A drained file above this size is replaced, so that its space comes back. */
  readonly drainedFileBytes: number;
  /** The consumer's cursor: everything up to it is stored for good. */
  readonly committed: number;
  readonly positions: SharedPositions;
  /** Called with a sentence for the operator. */
  readonly onProblem: (sentence: string) => void;
}

interface Newest {
  readonly segment: Segment;
  readonly nextSeq: number;
  /** Highest seq that may be read. */
  readonly appended: number;
}

/**
 * Writes one lane: the segment files in `<dir>/<lane>/`, of which the newest takes appends and loses what is consumed,
 * while the older ones wait until they can be unlinked whole. All calls block until the disk has done its part.
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
  /** Body bytes written since the size of the file was looked at. */
  #unmeasuredBytes = 0;
  /** Segments whose damage was told. */
  readonly #toldDamaged = new Set<number>();
  /** A failure other than a full disk: the handle is not to be trusted before repair. */
  #needsRepair = false;

  /** Throws LogOpenError, or what went wrong with the files. */
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

  /** Makes all rows durable and readable, numbered from the result on; throws when none of them is. */
  append(rows: readonly NewRow[]): number {
    if (this.#needsRepair) this.#repair();
    if (this.#isFull) this.#rotate();
    const firstSeq = this.#nextSeq;
    // Also when it fails: a number that was tried is not tried again.
    this.#nextSeq += rows.length;
    this.#write(firstSeq, rows, firstSeq - 1);
    // Nothing below may throw: the rows are durable.
    this.#options.positions.setAppended(this.#options.lane, this.#nextSeq - 1);
    for (const { body } of rows) this.#unmeasuredBytes += body.byteLength;
    this.#isFull = this.#usesTooMuch();
    return firstSeq;
  }

  /** Gives space back while nothing is appended. True when there is more to do. Throws when the disk refuses. */
  tidy(): boolean {
    if (this.#needsRepair) this.#repair();
    this.#unlinkConsumed();
    try {
      return this.#shrinkCurrent();
    } catch (error) {
      // Deleting needs space for a moment. Where there is none, a drained file can still go as a whole.
      const failure = sqliteFailure(error);
      if (!this.#isDrained() || (failure !== 'full' && failure !== 'cannot-open')) throw error;
      this.#replaceDrained();
      return false;
    }
  }

  /** Of every record beyond the committed cursor, oldest first. What lies in damaged pages is left out. */
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
      this.#tellDamage(firstSeq, error);
      return undefined;
    }
  }

  close(): void {
    this.#current.close();
  }

  /** Gives the number of rows deleted. */
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

  /** Throws `error` on unless a new file takes the rows. */
  #recoverFrom(error: unknown, firstSeq: number, rows: readonly NewRow[]): void {
    if (sqliteFailure(error) === 'damaged') {
      this.#tellDamage(this.#current.firstSeq, error);
      this.#rotate(firstSeq);
      this.#needsRepair = true;
      this.#current.write(undefined, firstSeq, rows);
      this.#needsRepair = false;
      return;
    }
    this.#needsRepair = true;
    try {
      // With a full disk the handle is sound, and another one could not be opened.
      if (sqliteFailure(error) === 'full') this.#discard();
      else this.#repair();
    } catch (repairError) {
      const path = this.#pathOf(this.#current.firstSeq);
      this.#options.onProblem(`${path} could not be repaired yet: ${messageOf(repairError)}`);
    }
    throw error;
  }

  #usesTooMuch(): boolean {
    // To look takes as long as a small commit.
    if (this.#unmeasuredBytes * measuredPerSegment < this.#options.segmentBytes) return false;
    this.#unmeasuredBytes = 0;
    try {
      return this.#current.usedBytes() >= this.#options.segmentBytes;
    } catch {
      // A file that cannot even tell its size: the next write meets the same failure and deals with it.
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
    // The newest row stays: it holds the numbering.
    const newest = this.#options.positions.appended(this.#options.lane) - 1;
    if (this.#deletable(newest) <= this.#deletedThrough) return false;
    const deleted = this.#write(this.#nextSeq, [], newest);
    // Where the numbering has a gap, go on behind it.
    if (deleted === 0) this.#deletedThrough = (this.#current.minSeq() ?? this.#nextSeq) - 1;
    return this.#deletable(newest) > this.#deletedThrough;
  }

  #isDrained(): boolean {
    const { positions, lane } = this.#options;
    return positions.consumed(lane) >= positions.appended(lane);
  }

  /** Unlinks before it creates. Should a crash come between, the consumer's cursor holds the numbering. */
  #replaceDrained(): void {
    this.#needsRepair = true;
    this.#current.close();
    this.#repair();
  }

  #deletable(newest: number): number {
    const { positions, lane } = this.#options;
    return Math.min(positions.consumed(lane), newest, this.#deletedThrough + deletedRowsMax);
  }

  /** Cuts off what a failed commit left behind. Throws as long as the disk does not let it. */
  #discard(): void {
    if (this.#current.isOpen()) this.#current.discardUncommitted();
    this.#needsRepair = false;
  }

  /** #discard, then opens the file anew, or begins another one when nothing waits in it. */
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

  /** The current file must be closed and hold nothing that waits. */
  #recreate(firstSeq = this.#nextSeq): void {
    this.#needsRepair = true;
    removeSegment(this.#dir, this.#current.firstSeq);
    this.#begin(createSegment(this.#dir, firstSeq));
    this.#needsRepair = false;
  }

  /** The new file is durable before the old one may go: its name carries the numbering on. */
  #rotate(firstSeq = this.#nextSeq): void {
    if (firstSeq === this.#current.firstSeq) {
      // It never held a record.
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
    for (;;) {
      const [oldest] = this.#older;
      if (oldest === undefined || (this.#older[1] ?? this.#current.firstSeq) - 1 > consumed) return;
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
      // The cursor is ahead of the files (lost, or an older copy): numbers after it may already stand for stored rows.
      segment.close();
      return this.#beginAt(committed + seqJump);
    } catch (error) {
      if (sqliteFailure(error) !== 'damaged') throw error;
      this.#tellDamage(newest, error);
      return this.#beginAt(Math.max(newest, committed) + seqJump);
    }
  }

  #beginAt(nextSeq: number): Newest {
    return { segment: createSegment(this.#dir, nextSeq), nextSeq, appended: nextSeq - 1 };
  }

  #tellDamage(firstSeq: number, error: unknown): void {
    if (this.#toldDamaged.has(firstSeq)) return;
    this.#toldDamaged.add(firstSeq);
    this.#options.onProblem(
      `${this.#pathOf(firstSeq)} is damaged (${messageOf(error)}): what is readable in it is processed, the rest ` +
        'becomes dead letters, and new records go to a new file where this one takes none. Check the disk.',
    );
  }

  #pathOf(firstSeq: number): string {
    return join(this.#dir, segmentFileName(firstSeq));
  }
}
