/** A directory for what lies on disk while this process works on it, and that of processes that died. */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../../base/ids.ts';
import { createDatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { keepLease } from '../../stores/metadata/lease.ts';
import { dropLease, heldLeases, takeLease } from '../../stores/metadata/named-leases.ts';
import type { Log } from '../telemetry/log.ts';

export interface ProcessDir {
  readonly path: string;
  /** Removes those whose processes died: their leases have run out. */
  removeDead(): Promise<void>;
  close(): Promise<void>;
}

export interface ProcessDirDeps {
  readonly db: Metadata;
  readonly log: Log;
  /** Processes on one machine may have it in common. */
  readonly parent: string;
  /** Nobody else can have a directory in there: what is left in it goes at once. */
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
  const trouble = (err?: unknown): void => log.warn({ err }, 'the lease of a directory could not be renewed');
  const nameOf = (dir: string): string => `directory ${dir}`;
  // Before the directory is there: one without a lease is removed by whoever sees it.
  const lease = { name: nameOf(owner), owner };
  // Nobody else ever takes it: after a time without the store it is taken anew.
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
