import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const memoryDir = '/dev/shm';
const prefix = 'millrace-';
/** Tests hold a fraction of it at a time. */
const freeBytesMin = 6 * 1024 ** 3;

/**
 * Makes a directory in memory for the files of this run of tests, if the system has room there, and removes it at the end. The service
 * flushes what it stores to the disk, which a test waits for and never profits from: tests end processes, not machines.
 */
export function makeTempDir(): string | undefined {
  if (!hasRoom()) return undefined;
  removeLeftovers();
  const path = join(memoryDir, prefix + process.pid);
  mkdirSync(path, { recursive: true, mode: 0o755 });
  process.on('exit', () => remove(path));
  return path;
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memoryDir);
    const isPlain = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .some(([, path, type, options = '']) => path === memoryDir && type === 'tmpfs' && !/\bnoexec\b/.test(options));
    return isPlain && Math.min(bavail * bsize, process.availableMemory()) >= freeBytesMin;
  } catch {
    return false;
  }
}

/** A process that is about to end may still write there; the next run removes what is left, and the tests have their results. */
function remove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  } catch (error) {
    console.warn(`${path} was not removed: ${String(error)}`);
  }
}

/** Runs that were killed left theirs behind. */
function removeLeftovers(): void {
  for (const name of readdirSync(memoryDir)) {
    const [, pid] = new RegExp(`^${prefix}(\\d+)$`).exec(name) ?? [];
    if (pid !== undefined && !isAlive(Number(pid))) remove(join(memoryDir, name));
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
