import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteSnapshot, type SqliteSnapshot } from '../../base/sqlite-snapshot.ts';
import { lanes, type Lane } from '../eventlog.ts';
import { segmentFileName, sqliteFailure, type PerLane } from './format.ts';
import { listSegments } from './segment.ts';

/** The files of a log as they were at one moment. */
export interface LogSnapshot extends Disposable {
  /** Makes `dir` a log of its own: the same id, the same records under the same numbers. */
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
 * Beside a process that writes the log, or without one. It holds every record that was acknowledged before the call and that nobody
 * has committed by its end. A directory that is not there is an empty log.
 */
export function openLogSnapshot(dir: string): LogSnapshot {
  const segments: SegmentSnapshot[] = [];
  const close = (): void => {
    for (const { snapshot } of segments.splice(0)) snapshot[Symbol.dispose]();
  };
  try {
    for (const lane of lanes) {
      // In the order of their records: one that comes while this goes on holds nothing that was there before.
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

/** What lies beyond the cursors in a log that nobody writes. */
export function countWaiting(dir: string, committed: PerLane<number>): PerLane<WaitingRecords> {
  const of = (lane: Lane): WaitingRecords => {
    let [records, events] = [0, 0];
    for (const firstSeq of segmentsOf(dir, lane)) {
      // To be read only it would leave a write-ahead log behind.
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

/** Undefined: all of it was committed, and its file went since it was listed. */
function unlessGone(path: string): SqliteSnapshot | undefined {
  try {
    return openSqliteSnapshot(path);
  } catch (error) {
    if (sqliteFailure(error) === 'cannot-open' && !existsSync(path)) return undefined;
    throw error;
  }
}
