import { closeSync, existsSync, fsyncSync, ftruncateSync, fstatSync, openSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { RecordSize } from '../backlog-queue.ts';
import { recordChecksum } from '../checksum.ts';
import { firstSeqOf, formatVersion, LogOpenError, pageBytes, schemaSql, segmentFileName } from './format.ts';

/** How long a connection waits for another one to the same file, e.g. a checkpoint for a reader. */
const busyTimeoutMs = 5000;
/** The write-ahead log shrinks to this size after a burst. */
const walBytesMax = 64 * 1024 * 1024;
const checkpointPages = 512;
/** Fits a whole commit: pages that do not fit would be written twice. */
const cacheKibibytes = 16_384;
/** Sizes in the write-ahead log, from SQLite's file format. */
const walHeaderBytes = 32;
const walFrameHeaderBytes = 24;

export interface NewRow {
  readonly header: string;
  readonly events: number;
  readonly body: Uint8Array;
}

/** A segment file opened for writing. Methods throw what node:sqlite throws. */
export interface Segment {
  readonly firstSeq: number;
  /**
   * Deletes rows through `deleteThrough` (undefined: none) and adds `rows` from `seq` on, in one transaction that is durable on return.
   * Returns the number deleted.
   */
  write(deleteThrough: number | undefined, seq: number, rows: readonly NewRow[]): number;
  /** Returns the highest seq in the file, undefined if it is empty. */
  lastSeq(): number | undefined;
  minSeq(): number | undefined;
  sizes(afterSeq: number): Iterable<RecordSize>;
  fileBytes(): number;
  /** Returns the size without free pages. */
  usedBytes(): number;
  /** Ensures that nothing of a failed transaction can reappear after a crash. Throws when it cannot. */
  discardUncommitted(): void;
  isOpen(): boolean;
  close(): void;
}

/** Returns the first seqs of the segments in a lane's directory, ascending. */
export function listSegments(laneDir: string): number[] {
  const found: number[] = [];
  for (const name of readdirSync(laneDir)) {
    const firstSeq = firstSeqOf(name);
    if (firstSeq !== undefined) found.push(firstSeq);
  }
  return found.sort((a, b) => a - b);
}

/** Removes the file first: a write-ahead log that remains after a crash is removed by removeOrphans. */
export function removeSegment(laneDir: string, firstSeq: number): void {
  const path = join(laneDir, segmentFileName(firstSeq));
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
}

export function removeOrphans(laneDir: string): void {
  const names = new Set(readdirSync(laneDir));
  for (const name of names) {
    const owner = name.replace(/-(wal|shm)$/, '');
    if (owner !== name && !names.has(owner) && firstSeqOf(owner) !== undefined) rmSync(join(laneDir, name));
  }
}

/** Makes names in a directory survive a power cut. */
export function syncDirectory(dir: string): void {
  const handle = openSync(dir, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Creates a segment, complete and durable before it is returned; leaves nothing behind on failure. */
export function createSegment(laneDir: string, firstSeq: number): Segment {
  const path = join(laneDir, segmentFileName(firstSeq));
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { timeout: busyTimeoutMs });
    db.exec(`PRAGMA page_size = ${pageBytes}`);
    configure(db);
    db.exec(`BEGIN IMMEDIATE; ${schemaSql} COMMIT;`);
    syncDirectory(laneDir);
    return segmentOf(path, firstSeq, db);
  } catch (error) {
    db?.close();
    removeSegment(laneDir, firstSeq);
    throw error;
  }
}

/** Returns undefined if the file has no table because of a crash during creation. Throws LogOpenError for a newer format. */
export function openSegment(laneDir: string, firstSeq: number): Segment | undefined {
  const path = join(laneDir, segmentFileName(firstSeq));
  const db = new DatabaseSync(path, { timeout: busyTimeoutMs });
  try {
    const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version']);
    if (version > formatVersion) {
      throw new LogOpenError(
        'newer_format',
        `expected ${path} to have format ${formatVersion} or older, got: ${version}. ` +
          'A newer release wrote it: start that release, or let it drain the log before going back.',
      );
    }
    if (version === 0) {
      db.close();
      return undefined;
    }
    configure(db);
    return segmentOf(path, firstSeq, db);
  } catch (error) {
    if (db.isOpen) db.close();
    throw error;
  }
}

function configure(db: DatabaseSync): void {
  db.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA cache_size = -${cacheKibibytes};
    PRAGMA wal_autocheckpoint = ${checkpointPages};
    PRAGMA journal_size_limit = ${walBytesMax};`);
}

function segmentOf(path: string, firstSeq: number, db: DatabaseSync): Segment {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const insert = db.prepare('INSERT INTO records (seq, crc, events, header, body) VALUES (?, ?, ?, ?, ?)');
  const deleteThrough = db.prepare('DELETE FROM records WHERE seq <= ?');
  const maxSeq = db.prepare('SELECT max(seq) AS n FROM records');
  const minSeq = db.prepare('SELECT min(seq) AS n FROM records');
  const pages = db.prepare('SELECT page_count AS n FROM pragma_page_count');
  const freePages = db.prepare('SELECT freelist_count AS n FROM pragma_freelist_count');
  const count = (statement: StatementSync) => Number(statement.get()?.['n'] ?? 0);
  const optional = (statement: StatementSync) => count(statement) || undefined;
  return {
    firstSeq,
    write: (through, firstNewSeq, rows) => {
      begin.run();
      try {
        const deleted = through === undefined ? 0 : Number(deleteThrough.run(through).changes);
        let seq = firstNewSeq;
        for (const { header, events, body } of rows) {
          insert.run(seq, recordChecksum(header, body), events, header, body);
          seq += 1;
        }
        commit.run();
        return deleted;
      } catch (error) {
        // Some failures, such as a full disk, have already rolled back.
        if (db.isTransaction) db.exec('ROLLBACK');
        throw error;
      }
    },
    lastSeq: () => optional(maxSeq),
    minSeq: () => optional(minSeq),
    sizes: (afterSeq) => readSizes(db, afterSeq),
    fileBytes: () => count(pages) * pageBytes,
    usedBytes: () => (count(pages) - count(freePages)) * pageBytes,
    discardUncommitted: () => truncateWal(`${path}-wal`, committedFrames(db)),
    isOpen: () => db.isOpen,
    close: () => {
      if (db.isOpen) db.close();
    },
  };
}

function* readSizes(db: DatabaseSync, afterSeq: number) {
  const statement = db.prepare(
    `SELECT seq, CASE WHEN json_valid(header) THEN header ->> '$.projectId' END AS projectId, events, length(body) AS bytes FROM records WHERE seq > ? ORDER BY seq`,
  );
  for (const row of statement.iterate(afterSeq)) {
    yield {
      seq: Number(row['seq']),
      projectId: Number(row['projectId']),
      events: Number(row['events']),
      bytes: Number(row['bytes']),
    };
  }
}

/** Returns the number of frames in the write-ahead log that belong to committed transactions. */
function committedFrames(db: DatabaseSync): number {
  if (db.isTransaction) db.exec('ROLLBACK');
  const state = db.prepare('PRAGMA wal_checkpoint(NOOP)').get();
  const frames = Number(state?.['log']);
  if (!Number.isInteger(frames) || frames < 0) throw new Error('expected the length of the write-ahead log, got none');
  return frames;
}

/**
 * Truncates frames of a commit whose fsync failed: they are valid, and recovery after a crash would apply them. Readers never read
 * beyond the committed frames, so the rest can be truncated concurrently.
 */
function truncateWal(walPath: string, frames: number): void {
  if (!existsSync(walPath)) return;
  const wanted = walHeaderBytes + frames * (walFrameHeaderBytes + pageBytes);
  const handle = openSync(walPath, 'r+');
  try {
    if (fstatSync(handle).size > wanted) ftruncateSync(handle, wanted);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  syncDirectory(dirname(walPath));
}
