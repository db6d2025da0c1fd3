/** A disk of a server of tools/with-clickhouse.ts that is full, which needs the right to mount a file system. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { killClickhouse, startClickhouse } from './clickhouse-servers.ts';

/** Returns whether a file system can be mounted. */
export function canMount(): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0;
}

/** Restarts the server with its data on a file system in memory that has only a few bytes left. */
export async function fillDisk(home: string, freeBytes: number): Promise<void> {
  const [data, kept] = [join(home, 'data'), join(home, 'kept')];
  await killClickhouse(home);
  renameSync(data, kept);
  mkdirSync(data);
  const used = Number(execFileSync('du', ['-s', '--block-size=1', kept], { encoding: 'utf8' }).split('\t')[0]);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${used + freeBytes}`, 'tmpfs', data]);
  copy(kept, data);
  startClickhouse(home);
}

/** Restarts the server with its data on the disk that it had before. */
export async function freeDisk(home: string): Promise<void> {
  const [data, kept] = [join(home, 'data'), join(home, 'kept')];
  await killClickhouse(home);
  rmSync(kept, { recursive: true });
  mkdirSync(kept);
  copy(data, kept);
  execFileSync('umount', [data]);
  rmdirSync(data);
  renameSync(kept, data);
  startClickhouse(home);
}

function copy(from: string, to: string): void {
  execFileSync('cp', ['-a', `${from}/.`, to]);
}
