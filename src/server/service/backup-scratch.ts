/**
 * Working directory of a backup, in the data directory: mostly links to store files, which keep space that the stores have
 * freed.
 */
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { takeFileLock } from './stores.ts';

export interface BackupScratch extends Disposable {
  /** Copy of the stores. */
  readonly copy: string;
  /** Directory in which the copy is opened once. */
  readonly look: string;
  /** Removes both. */
  clear(): Promise<void>;
}

const dirOf = (dataDir: string): string => join(dataDir, 'backup');

/**
 * Locks the directory for one backup at a time; the system releases it when the process ends in any way. `undefined` if another
 * backup is running.
 */
export async function takeBackupScratch(dataDir: string): Promise<BackupScratch | undefined> {
  const dir = dirOf(dataDir);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const lock = takeFileLock(join(dir, 'lock.sqlite'));
  if (lock === undefined) return undefined;
  const [copy, look] = [join(dir, 'copy'), join(dir, 'look')];
  return {
    copy,
    look,
    async clear() {
      for (const path of [copy, look]) await rm(path, { recursive: true, force: true });
    },
    [Symbol.dispose]: () => lock[Symbol.dispose](),
  };
}

/** Removes the remains of a killed backup, but not of a running one. */
export async function clearDeadBackup(dataDir: string): Promise<void> {
  if (!existsSync(dirOf(dataDir))) return;
  using scratch = await takeBackupScratch(dataDir);
  await scratch?.clear();
}
