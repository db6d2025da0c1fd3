import { backup, DatabaseSync } from 'node:sqlite';

/** A SQLite file at one moment, regardless of later changes. */
export interface SqliteSnapshot extends Disposable {
  /** Writes it to a new file. */
  copyTo(path: string): Promise<void>;
}

/** Small enough to let other work of this process run in between. */
const pagesAtOnce = 2048;
const busyWaitMs = 5000;

/**
 * Takes the snapshot at the time of the call: a read transaction starts and lasts until the snapshot is released. In WAL mode
 * it blocks no writer; the write-ahead log grows in the meantime. Throws errors of node:sqlite.
 */
export function openSqliteSnapshot(path: string): SqliteSnapshot {
  const db = new DatabaseSync(path, { readOnly: true, timeout: busyWaitMs });
  try {
    // The transaction only starts with a read.
    db.exec('begin; select count(*) from sqlite_master');
  } catch (error) {
    db.close();
    throw error;
  }
  return {
    // SQLite copies within the open transaction, so later commits are not visible and do not restart it.
    copyTo: async (copy) => void (await backup(db, copy, { rate: pagesAtOnce })),
    [Symbol.dispose]: () => db.close(),
  };
}
