/** The data directory: who may read it, which process uses it and at which address, and whether its disks are full. */
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { HealthResult } from '../http/health.ts';
import type { WarnLog } from '../telemetry/log.ts';
import { takeFileLock } from './stores.ts';

const forOthers = 0o077;
/** Set on /tmp: the directory is shared on purpose. */
const sticky = 0o1000;

/** Creates the data directory, or restricts it to this user: it contains keys, and secrets of plugins and imports. */
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
    'data directory is readable by other users and its mode cannot be changed; use one with mode 0700',
  );
}

/** Another service is using the directory. */
class DataDirInUseError extends Error {
  override name = 'DataDirInUseError';
  constructor(dir: string) {
    super(`${dir} is in use by another process: stop that one, or choose another data directory with --data-dir`);
  }
}

/**
 * Locks the directory for this process before anything in it is opened or migrated. The system releases the lock when the process
 * ends in any way. @throws DataDirInUseError immediately
 */
export function claimDataDir(dir: string): Disposable {
  const lock = takeFileLock(join(dir, 'lock.sqlite'));
  if (lock === undefined) throw new DataDirInUseError(dir);
  return lock;
}

/** Tells whether a service is using the directory. */
export function isDataDirInUse(dir: string): boolean {
  const lockFile = join(dir, 'lock.sqlite');
  if (!existsSync(lockFile)) return false;
  using lock = takeFileLock(lockFile);
  return lock === undefined;
}

const addressFile = (dir: string): string => join(dir, 'service-url');

/** Stores the address of the service that uses the directory, for commands that print links to it. */
export function saveAddress(dir: string, url: string): void {
  writeFileSync(addressFile(dir), url, { mode: 0o600 });
}

/** Returns the address of the service that uses the directory or used it last; `undefined` if none did. */
export function lastAddress(dir: string): string | undefined {
  const file = addressFile(dir);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** Maximum size of a group of writes of each store: with less, the disk would be full within seconds. */
export const diskFreeBytesMin = 8 * 1024 * 1024;

type Statfs = (path: string) => Promise<{ readonly bavail: number; readonly bsize: number }>;

/** Whether the disks of a data directory have enough free space; its stores may be on separate disks. */
export async function diskHealth(dataDir: string, read: Statfs = statfs): Promise<HealthResult> {
  const full: string[] = [];
  for (const path of [dataDir, join(dataDir, 'log'), join(dataDir, 'events')]) {
    const free = await freeBytes(path, read);
    if (free !== undefined && free < diskFreeBytesMin) full.push(`${path} (${Math.floor(free / 1024)} KiB free)`);
  }
  if (full.length === 0) return { ok: true };
  return {
    ok: false,
    detail: `The disk is full: expected ${diskFreeBytesMin / 1024 / 1024} MiB free at least in ${full.join(', ')}. Free disk space; nothing else is necessary.`,
  };
}

/** `undefined` if the directory does not exist, as when a server has that store. */
async function freeBytes(path: string, read: Statfs): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await read(path);
    return bavail * bsize;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
