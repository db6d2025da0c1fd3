import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { StoredRecord } from '../eventlog.ts';
import { recordChecksum } from '../checksum.ts';
import { parseRecordHeader } from '../record-header.ts';
import { messageOf, segmentFileName, sqliteFailure } from './format.ts';

const busyTimeoutMs = 5000;
/** After this many consecutive unreadable records the search for a readable one takes larger steps. */
const exactSearch = 1024;
const nothing = new Uint8Array(0);

/** Reads one segment file through a separate connection, which never writes. */
export interface SegmentReader {
  /**
   * Yields records in `(afterSeq, lastSeq]`, in order. A record that fails its checksum, and a range that SQLite cannot
   * read, are returned as damaged records; a range once, under its last seq. Throws for an I/O error, which may be
   * temporary.
   */
  records(afterSeq: number, lastSeq: number): Generator<StoredRecord>;
  close(): void;
}

/**
 * Returns undefined if the file does not exist: everything in it was consumed. `isOlder`: another segment takes the appends, so that
 * this one is not written any more.
 */
export function openSegmentReader(laneDir: string, firstSeq: number, isOlder: boolean): SegmentReader | undefined {
  const path = join(laneDir, segmentFileName(firstSeq));
  if (!existsSync(path)) return undefined;
  const isUnchanging = isOlder && !existsSync(`${path}-wal`);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(isUnchanging ? immutable(path) : path, { readOnly: true, timeout: busyTimeoutMs });
    return readerOf(db);
  } catch (error) {
    db?.close();
    if (!existsSync(path)) return undefined;
    if (sqliteFailure(error) !== 'damaged') throw error;
    return unreadable(messageOf(error));
  }
}

/** Opened like this, SQLite creates no other files: waiting records can be read, and then freed, on a full disk. */
function immutable(path: string): URL {
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  return url;
}

function readerOf(db: DatabaseSync): SegmentReader {
  const prepareRange = () =>
    db.prepare('SELECT seq, crc, header, body FROM records WHERE seq >= ? AND seq <= ? ORDER BY seq');
  let range = prepareRange();
  const first = db.prepare('SELECT seq FROM records WHERE seq >= ? LIMIT 1');
  return {
    records: function* (afterSeq, lastSeq) {
      let after = afterSeq;
      while (after < lastSeq) {
        try {
          for (const row of range.iterate(after + 1, lastSeq)) {
            const record = recordOf(row);
            after = record.seq;
            yield record;
          }
          return;
        } catch (error) {
          // A failed statement would report the same failure again.
          range = prepareRange();
          if (sqliteFailure(error) !== 'damaged') throw error;
          const next = nextReadable(first, after + 1, lastSeq);
          yield unreadableRange(after + 1, next - 1, messageOf(error));
          after = next - 1;
        }
      }
    },
    close: () => db.close(),
  };
}

function unreadable(why: string): SegmentReader {
  return {
    records: function* (afterSeq, lastSeq) {
      if (afterSeq < lastSeq) yield unreadableRange(afterSeq + 1, lastSeq, why);
    },
    close: () => undefined,
  };
}

function unreadableRange(firstSeq: number, lastSeq: number, why: string): StoredRecord {
  const which = firstSeq === lastSeq ? `record ${firstSeq}` : `records ${firstSeq} to ${lastSeq}`;
  return { seq: lastSeq, damaged: `the file cannot be read at ${which}: ${why}`, bytes: nothing };
}

/** Returns the lowest seq from `from` on at which reading can continue; `lastSeq + 1` if no record is readable. */
function nextReadable(first: StatementSync, from: number, lastSeq: number): number {
  let failed = from;
  let probe = from + 1;
  while (probe <= lastSeq && !canRead(first, probe)) {
    failed = probe;
    probe += Math.max(1, Math.floor((probe - from) / exactSearch));
  }
  if (probe > lastSeq) return lastSeq + 1;
  for (let seq = failed + 1; seq < probe; seq += 1) if (canRead(first, seq)) return seq;
  return probe;
}

function canRead(first: StatementSync, seq: number): boolean {
  try {
    first.get(seq);
    return true;
  } catch (error) {
    if (sqliteFailure(error) === 'damaged') return false;
    throw error;
  }
}

function recordOf(row: Record<string, unknown>): StoredRecord {
  const seq = Number(row['seq']);
  const { header: text, body } = row;
  if (typeof text !== 'string' || !(body instanceof Uint8Array)) {
    return { seq, damaged: 'expected a header text and a body, got other types', bytes: nothing };
  }
  const checksum = recordChecksum(text, body);
  if (checksum !== row['crc']) {
    return { seq, damaged: `expected checksum ${String(row['crc'])}, got: ${checksum}`, bytes: body };
  }
  const header = parseRecordHeader(text);
  if (header === undefined) return { seq, damaged: 'the header is not what this release expects', bytes: body };
  return { seq, header, body };
}
