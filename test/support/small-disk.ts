import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whether this user may mount file systems; tests of full disks skip where not. */
export const mayMount = probe();

function probe(): boolean {
  const path = mkdtempSync(join(tmpdir(), 'millrace-mount-probe-'));
  const isMounted = mount(path, 1);
  if (isMounted) unmount(path);
  rmSync(path, { recursive: true, force: true });
  return isMounted;
}

function mount(path: string, mebibytes: number): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path]).status === 0;
}

/** Lazily: a server that a failed test left behind must not keep it. */
function unmount(path: string): void {
  spawnSync('umount', ['-l', path]);
}

/** Mounts a file system of this many MiB at `path`, until it is disposed of. */
export function smallDisk(path: string, mebibytes: number): Disposable {
  mkdirSync(path, { recursive: true });
  if (!mount(path, mebibytes)) throw new Error(`expected to be allowed to mount a file system at ${path}`);
  return { [Symbol.dispose]: () => unmount(path) };
}

/** Takes all the space that is left there; returns the file that does. */
export function fillDisk(directory: string): string {
  const ballast = join(directory, 'ballast');
  for (const size of [1_048_576, 65_536, 4096]) {
    try {
      for (;;) writeFileSync(ballast, Buffer.alloc(size, 1), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
  return ballast;
}
