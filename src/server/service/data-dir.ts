import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { WarnLog } from '../telemetry/log.ts';
import { takeFileLock } from './stores.ts';

const forOthers = 0o077;
/** As on /tmp: the directory belongs to everybody on purpose. */
const sticky = 0o1000;

/** Makes the data directory, and closes one that is there to all other users: it holds keys, and secrets of plugins and imports. */
export function prepareDataDir(dir: string, log: WarnLog): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const { mode } = statSync(dir);
  if ((mode & forOthers) === 0) return;
  let err: unknown;
  try {
    if ((mode & sticky) === 0) chmodSync(dir, 0o700);
  } catch (error) {
    err = error;
  }
  if ((statSync(dir).mode & forOthers) === 0) return;
  log.warn(
    { err, dir },
    'other users can look into the data directory, and its mode cannot be changed; use one with mode 0700',
  );
}

/** A service of its own works in the directory. */
export class DataDirInUseError extends Error {
  override name = 'DataDirInUseError';
  constructor(dir: string) {
    super(`${dir} is in use by another process: stop that one, or choose another data directory with --data-dir`);
  }
}

/**
 * Takes the directory for this process, before anything in it is opened or migrated. The system lets go of it when the process ends,
 * however it ends. Errors: DataDirInUseError, at once.
 */
export function claimDataDir(dir: string): Disposable {
  const lock = takeFileLock(join(dir, 'lock.sqlite'));
  if (lock === undefined) throw new DataDirInUseError(dir);
  return lock;
}
