import { DatabaseSync } from 'node:sqlite';

const sqliteBusy = 5;

/**
 * Locks a file; returns undefined if another process, or another part of this one, has it. The system releases the lock when the
 * process ends in any way.
 */
export function takeFileLock(path: string): Disposable | undefined {
  const file = new DatabaseSync(path, { timeout: 0 });
  try {
    file.exec('begin exclusive');
  } catch (error) {
    file.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy) return undefined;
    throw error;
  }
  return { [Symbol.dispose]: () => file.close() };
}
