import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../../base/ids.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { keepLease } from '../../stores/metadata/lease.ts';
import { dropLease, heldLeases, takeLease } from '../../stores/metadata/named-leases.ts';
import type { Log } from '../telemetry/log.ts';
import { createDatabaseClock } from '../../stores/metadata/database-clock.ts';

/** A directory for temporary files of this process, with those of dead processes next to it. */
export interface ProcessDir {
  readonly path: string;
  /** Removes directories of dead processes, whose leases have expired. */
  removeDead(): Promise<void>;
  close(): Promise<void>;
}

interface ProcessDirDeps {
  readonly db: Metadata;
  readonly log: Log;
  /** May be shared by processes on one machine. */
  readonly parent: string;
  /** Whether no other process uses the parent, so that its content can be removed immediately. */
  readonly isAlone: boolean;
  /** Default 10 min: a process that cannot reach the store for some minutes keeps its files. */
  readonly leaseMs?: number;
}

const leaseMsDefault = 600_000;

export async function openProcessDir(deps: ProcessDirDeps): Promise<ProcessDir> {
  const { db, log, parent, isAlone, leaseMs = leaseMsDefault } = deps;
  if (isAlone) await rm(parent, { recursive: true, force: true });
  const owner = newId();
  const clock = createDatabaseClock(db);
  const trouble = (err?: unknown): void => log.warn({ err }, 'failed to renew directory lease');
  const nameOf = (dir: string): string => `directory ${dir}`;
  // Before the directory exists: other processes remove one without a lease.
  const lease = { name: nameOf(owner), owner };
  // No other process takes this lease, so it can be taken again after the store was unavailable.
  const take = async (): Promise<boolean> => takeLease(db, lease, await clock.now(), leaseMs);
  await take();
  const stop = keepLease({ leaseMs, renew: take, onLost: trouble, onTrouble: trouble });
  const path = join(parent, owner);
  await mkdir(path, { recursive: true, mode: 0o700 });
  const removeDead = async (): Promise<void> => {
    const dirs = await readdir(parent);
    const held = await heldLeases(db, dirs.map(nameOf), await clock.now());
    for (const dir of dirs) if (!held.has(nameOf(dir))) await rm(join(parent, dir), { recursive: true, force: true });
  };
  await removeDead();
  return {
    path,
    removeDead,
    close: async () => {
      await rm(path, { recursive: true, force: true });
      await stop();
      await dropLease(db, lease);
    },
  };
}
