import { backup, DatabaseSync } from 'node:sqlite';

/** A SQLite file as it was at one moment, however others change it since. */
export interface SqliteSnapshot extends Disposable {
  /** Writes it into a new file. */
  copyTo(path: string): Promise<void>;
}

/** So that others of this process get their turn in between. */
const pagesAtOnce = 2048;
const busyWaitMs = 5000;

/**
 * The moment is that of the call: a read transaction begins in it and lasts until the snapshot is let go of. In WAL mode nobody waits
 * for it; the write-ahead log grows meanwhile. Throws what node:sqlite throws.
 */
export function openSqliteSnapshot(path: string): SqliteSnapshot {
  const db = new DatabaseSync(path, { readOnly: true, timeout: busyWaitMs });
  try {
    // Only a read begins it.
    db.exec('begin; select count(*) from sqlite_master');
  } catch (error) {
    db.close();
    throw error;
  }
  return {
    // SQLite copies within the transaction that is open, so what others commit neither shows nor makes it begin anew.
    copyTo: async (copy) => void (await backup(db, copy, { rate: pagesAtOnce })),
    [Symbol.dispose]: () => db.close(),
  };
}
