import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { EventLogReader, Lane, ReadLimits, StoredRecord } from '../eventlog.ts';
import { segmentFileName } from './format.ts';
import { readLogId } from './identity.ts';
import { listSegments } from './segment.ts';
import { openSegmentReader, type SegmentReader } from './segment-reader.ts';
import { sharedPositions } from './shared-positions.ts';

/**
 * Opens the reading side of the log that openSqliteLogWriter opened in this process: `shared` is the writer's. Works in any
 * thread, with separate connections. `read` blocks its thread while it reads and rejects on an I/O error.
 */
export function openSqliteLogReader(dir: string, shared: SharedArrayBuffer): EventLogReader {
  const positions = sharedPositions(shared);
  const id = readLogId(dir);
  if (id === undefined)
    throw new Error(`expected the event log in ${dir} to be open for writing, got one without identity`);
  const readers: Record<Lane, LaneReader> = {
    live: new LaneReader(join(dir, 'live')),
    historical: new LaneReader(join(dir, 'historical')),
  };
  let seenAppends = positions.appendCount();
  let closed = false;
  return {
    id,
    read: async (lane, afterSeq, limits) => {
      if (closed) throw new Error('expected an open event log to read from, got a closed one');
      const lastSeq = Math.min(positions.appended(lane), limits.lastSeq ?? Infinity);
      return readers[lane].read(afterSeq, lastSeq, limits);
    },
    commit: (lane, seq) => positions.setConsumed(lane, seq),
    waitForAppend: async (timeoutMs) => {
      // Appends since the end of the last wait count as well: they may have come after the reads in between.
      if (!closed) await positions.appendCountChange(seenAppends, timeoutMs);
      seenAppends = positions.appendCount();
      for (const reader of Object.values(readers)) reader.closeIfGone();
    },
    close: async () => {
      closed = true;
      for (const reader of Object.values(readers)) reader.close();
      positions.wakeAll();
    },
  };
}

/** Keeps the last segment that it read open. */
class LaneReader {
  readonly #dir: string;
  #open: { readonly firstSeq: number; readonly reader: SegmentReader } | undefined;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Returns records in `(afterSeq, lastSeq]` until one of them reaches a limit. */
  read(afterSeq: number, lastSeq: number, limits: ReadLimits): StoredRecord[] {
    const found: StoredRecord[] = [];
    if (afterSeq >= lastSeq) return found;
    const left = { events: limits.events, bytes: limits.bytes };
    const segments = listSegments(this.#dir);
    for (const [index, firstSeq] of segments.entries()) {
      const segmentEnd = Math.min(lastSeq, (segments[index + 1] ?? Infinity) - 1);
      if (segmentEnd <= afterSeq) continue;
      if (firstSeq > lastSeq) break;
      const isOlder = index < segments.length - 1;
      const records = this.#segment(firstSeq, isOlder)?.records(Math.max(afterSeq, firstSeq - 1), segmentEnd) ?? [];
      if (takeRecords(records, left, found)) break;
    }
    return found;
  }

  #segment(firstSeq: number, isOlder: boolean): SegmentReader | undefined {
    if (this.#open?.firstSeq === firstSeq) return this.#open.reader;
    this.close();
    const reader = openSegmentReader(this.#dir, firstSeq, isOlder);
    if (reader !== undefined) this.#open = { firstSeq, reader };
    return reader;
  }

  /** Closes an unlinked file, which takes space as long as it is open. */
  closeIfGone(): void {
    const firstSeq = this.#open?.firstSeq;
    if (firstSeq !== undefined && !existsSync(join(this.#dir, segmentFileName(firstSeq)))) this.close();
  }

  close(): void {
    this.#open?.reader.close();
    this.#open = undefined;
  }
}

/** Moves records into `found`; returns true once a limit is reached. */
function takeRecords(
  records: Iterable<StoredRecord>,
  left: { events: number; bytes: number },
  found: StoredRecord[],
): boolean {
  for (const record of records) {
    found.push(record);
    left.events -= record.damaged === undefined ? record.header.events : 1;
    left.bytes -= record.damaged === undefined ? record.body.byteLength : record.bytes.byteLength;
    if (left.events <= 0 || left.bytes <= 0) return true;
  }
  return false;
}
