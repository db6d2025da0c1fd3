import type { Lane } from '../eventlog.ts';

/** Version of the files, in `PRAGMA user_version`. FORMAT.md describes each version. */
export const formatVersion = 1;

/** Large pages keep a 58 KB body in few pieces: half the CPU of 4 KiB pages, as measured. */
export const pageBytes = 16_384;

/**
 * How far the numbering jumps when its end is unknown (a damaged or missing file), so that no number is used twice.
 * No segment can contain as many records.
 */
export const seqJump = 2 ** 32;

/** `body` comes last: the columns before it are read without its overflow pages. */
export const schemaSql = `
  CREATE TABLE records (
    seq INTEGER PRIMARY KEY,
    crc INTEGER NOT NULL,
    events INTEGER NOT NULL,
    header TEXT NOT NULL,
    body BLOB NOT NULL
  );
  PRAGMA user_version = ${formatVersion};`;

/**
 * How far the numbering moves after a process that did not close the log: a disk that loses acknowledged writes may have lost the
 * newest records, and rows may be stored under their numbers.
 */
export const seqSkip = 2 ** 20;

const segmentName = /^(\d{16})\.sqlite$/;

/** Returns the file name of the segment whose records are numbered from `firstSeq` on. */
export function segmentFileName(firstSeq: number): string {
  return `${String(firstSeq).padStart(16, '0')}.sqlite`;
}

/** Returns the first seq of a segment file; undefined for any other file. */
export function firstSeqOf(fileName: string): number | undefined {
  const digits = segmentName.exec(fileName)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export type LogOpenErrorCode = 'in_use' | 'newer_format' | 'io';

/** The log could not be opened for writing; the message states why and what to do next. */
export class LogOpenError extends Error {
  override name = 'LogOpenError';
  readonly code: LogOpenErrorCode;

  constructor(code: LogOpenErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Kinds of SQLite failure that are handled separately. */
export type SqliteFailure = 'full' | 'damaged' | 'busy' | 'cannot-open' | 'other';

const failuresByCode: Readonly<Record<number, SqliteFailure>> = {
  5: 'busy',
  11: 'damaged',
  13: 'full',
  14: 'cannot-open',
  26: 'damaged',
};

/** SQLite's primary result code is the low byte of the extended one that node:sqlite reports. */
export function sqliteFailure(error: unknown): SqliteFailure {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
  return (typeof code === 'number' && failuresByCode[code & 0xff]) || 'other';
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export type PerLane<T> = Readonly<Record<Lane, T>>;
