import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { StoredRecord } from '../eventlog.ts';
import { recordChecksum } from '../checksum.ts';
import { parseRecordHeader } from '../record-header.ts';
import { messageOf, segmentFileName, sqliteFailure } from './format.ts';

const busyTimeoutMs = 5000;
/** Beyond this many unreadable records in a row the search for the next readable one takes larger steps. */
const exactSearch = 1024;
const nothing = new Uint8Array(0);

/** Reads one segment file through a connection of its own, which never writes. */
export interface SegmentReader {
  /**
   * Records in `(afterSeq, lastSeq]`, in order. A record that fails its checksum, and a stretch that SQLite cannot
   * read, come as damaged records; the latter once, under the last seq of the stretch. Throws for an I/O error, which
   * may pass.
   */
  records(afterSeq: number, lastSeq: number): Generator<StoredRecord>;
  close(): void;
}

/**
 * Undefined when the file is gone: everything in it was consumed. `isOlder`: another segment takes the appends, so that
 * nothing is written to this one any more.
 */
export function openSegmentReader(laneDir: string, firstSeq: number, isOlder: boolean): SegmentReader | undefined {
  const path = join(laneDir, segmentFileName(firstSeq));
  if (!existsSync(path)) return undefined;
  const isSettled = isOlder && !existsSync(`${path}-wal`);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(isSettled ? immutable(path) : path, { readOnly: true, timeout: busyTimeoutMs });
    return readerOf(db);
  } catch (error) {
    db?.close();
    if (!existsSync(path)) return undefined;
    if (sqliteFailure(error) !== 'damaged') throw error;
    return unreadable(messageOf(error));
  }
}

/** Opened like this, SQLite makes no files beside it: what is waiting can be read (and then freed) on a full disk. */
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
          // A statement that failed once would report the same failure again.
          range = prepareRange();
          if (sqliteFailure(error) !== 'damaged') throw error;
          const next = nextReadable(first, after + 1, lastSeq);
          yield unreadableStretch(after + 1, next - 1, messageOf(error));
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
      if (afterSeq < lastSeq) yield unreadableStretch(afterSeq + 1, lastSeq, why);
    },
    close: () => undefined,
  };
}

function unreadableStretch(firstSeq: number, lastSeq: number, why: string): StoredRecord {
  const which = firstSeq === lastSeq ? `record ${firstSeq}` : `records ${firstSeq} to ${lastSeq}`;
  return { seq: lastSeq, damaged: `the file cannot be read at ${which}: ${why}`, bytes: nothing };
}

/** Lowest seq from `from` on at which reading can go on; `lastSeq + 1` when there is none. */
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
