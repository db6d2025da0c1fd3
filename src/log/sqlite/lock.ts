import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { LogOpenError, messageOf, sqliteFailure } from './format.ts';

/**
 * Locks a directory for this process until the result is called. The operating system releases it when the process ends in any
 * way.
 *
 * @throws LogOpenError `in_use` when another process has it
 */
export function lockDirectory(dir: string): () => void {
  const path = join(dir, 'lock.sqlite');
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { timeout: 0 });
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db?.close();
    if (sqliteFailure(error) === 'busy') {
      throw new LogOpenError(
        'in_use',
        `the event log in ${dir} is in use by another process: stop that one, or choose another data directory`,
      );
    }
    throw new LogOpenError('io', `expected to lock ${path}, got: ${messageOf(error)}`);
  }
  const held = db;
  return () => held.close();
}
