import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { HealthResult } from '../http/health.ts';

/** What a group of writes of each store takes at most: with less a full disk is a matter of seconds. */
export const diskFreeBytesMin = 8 * 1024 * 1024;

type Statfs = (path: string) => Promise<{ readonly bavail: number; readonly bsize: number }>;

/** Whether the disks of a data directory have room for what is written next; its stores may lie on disks of their own. */
export async function diskHealth(dataDir: string, look: Statfs = statfs): Promise<HealthResult> {
  const full: string[] = [];
  for (const path of [dataDir, join(dataDir, 'log'), join(dataDir, 'events')]) {
    const free = await freeBytes(path, look);
    if (free !== undefined && free < diskFreeBytesMin) full.push(`${path} (${Math.floor(free / 1024)} KiB free)`);
  }
  if (full.length === 0) return { ok: true };
  return {
    ok: false,
    detail: `The disk is full: expected ${diskFreeBytesMin / 1024 / 1024} MiB free at least in ${full.join(', ')}. Make room; nothing else is to be done.`,
  };
}

/** Undefined: there is no such directory, as where a server keeps that store. */
async function freeBytes(path: string, look: Statfs): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await look(path);
    return bavail * bsize;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
