/** Where a backup works, in the data directory: mostly links to files of the stores, which keep room that the stores have freed. */
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { takeFileLock } from './stores.ts';

export interface BackupScratch extends Disposable {
  /** Where the stores are copied to. */
  readonly copy: string;
  /** Where the copy is opened once. */
  readonly look: string;
  /** Removes both. */
  clear(): Promise<void>;
}

const dirOf = (dataDir: string): string => join(dataDir, 'backup');

/** For one backup at a time; the system lets go of it when its process ends, however it ends. Undefined: another one is at work. */
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

/** Removes what a backup that was killed has left; one that is at work keeps what it has. */
export async function clearDeadBackup(dataDir: string): Promise<void> {
  if (!existsSync(dirOf(dataDir))) return;
  using scratch = await takeBackupScratch(dataDir);
  await scratch?.clear();
}
