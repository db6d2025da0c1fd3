import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteSnapshot, type SqliteSnapshot } from '../../base/sqlite-snapshot.ts';
import { lanes, type Lane } from '../eventlog.ts';
import { segmentFileName, sqliteFailure, type PerLane } from './format.ts';
import { listSegments } from './segment.ts';

/** The files of a log at one moment. */
export interface LogSnapshot extends Disposable {
  /** Copies the log to `dir`: the same id, the same records with the same numbers. */
  copyTo(dir: string): Promise<void>;
}

export interface WaitingRecords {
  readonly records: number;
  readonly events: number;
}

interface SegmentSnapshot {
  readonly lane: Lane;
  readonly name: string;
  readonly snapshot: SqliteSnapshot;
}

/**
 * Opens a snapshot, even while another process writes the log. It contains every record that was acknowledged before the call and is not
 * committed when the call returns. A missing directory is an empty log.
 */
export function openLogSnapshot(dir: string): LogSnapshot {
  const segments: SegmentSnapshot[] = [];
  const close = (): void => {
    for (const { snapshot } of segments.splice(0)) snapshot[Symbol.dispose]();
  };
  try {
    for (const lane of lanes) {
      // In the order of their records: a segment created in the meantime contains no earlier record.
      for (const firstSeq of segmentsOf(dir, lane)) {
        const name = segmentFileName(firstSeq);
        const snapshot = unlessGone(join(dir, lane, name));
        if (snapshot !== undefined) segments.push({ lane, name, snapshot });
      }
    }
  } catch (error) {
    close();
    throw error;
  }
  return {
    async copyTo(target) {
      for (const lane of lanes) mkdirSync(join(target, lane), { recursive: true, mode: 0o700 });
      if (existsSync(join(dir, 'id'))) copyFileSync(join(dir, 'id'), join(target, 'id'));
      for (const { lane, name, snapshot } of segments) await snapshot.copyTo(join(target, lane, name));
    },
    [Symbol.dispose]: close,
  };
}

/** Counts the records beyond the cursors in a log that no process writes. */
export function countWaiting(dir: string, committed: PerLane<number>): PerLane<WaitingRecords> {
  const of = (lane: Lane): WaitingRecords => {
    let [records, events] = [0, 0];
    for (const firstSeq of segmentsOf(dir, lane)) {
      // Opened read-only, it would leave a write-ahead log behind.
      const db = new DatabaseSync(join(dir, lane, segmentFileName(firstSeq)));
      try {
        if (db.prepare('PRAGMA user_version').get()?.['user_version'] === 0) continue;
        const count = 'SELECT count(*) AS records, coalesce(sum(events), 0) AS events FROM records WHERE seq > ?';
        const found = db.prepare(count).get(committed[lane]);
        records += Number(found?.['records']);
        events += Number(found?.['events']);
      } finally {
        db.close();
      }
    }
    return { records, events };
  };
  return { live: of('live'), historical: of('historical') };
}

function segmentsOf(dir: string, lane: Lane): number[] {
  return existsSync(join(dir, lane)) ? listSegments(join(dir, lane)) : [];
}

/** Returns undefined if the file was removed since it was listed, because all of it was committed. */
function unlessGone(path: string): SqliteSnapshot | undefined {
  try {
    return openSqliteSnapshot(path);
  } catch (error) {
    if (sqliteFailure(error) === 'cannot-open' && !existsSync(path)) return undefined;
    throw error;
  }
}
