/** Limits on a process of ours that works on what others have written: who has started it looks at it, and kills it. */
import type { ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const pollMs = 50;
const pageBytes = 4096;

/** Resident memory of a process; 0: it has just ended, or the system does not tell. */
export function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1] ?? 0) * pageBytes;
  } catch {
    return 0;
  }
}

/**
 * Calls `exceed` once when the process has more than `bytesMax` of memory, of whatever kind. The limit of a heap knows neither buffers
 * nor what native code takes.
 */
export function watchMemory(child: ChildProcess, bytesMax: number, exceed: () => void): void {
  const { pid } = child;
  if (pid === undefined) return;
  const timer = setInterval(() => {
    if (residentBytes(pid) <= bytesMax) return;
    clearInterval(timer);
    exceed();
  }, pollMs);
  timer.unref();
  child.once('exit', () => clearInterval(timer));
}

/** Where memory runs out before a limit is reached, the system ends this process and not the one that has started it. */
export function offerToOutOfMemory({ pid }: ChildProcess): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // It has just ended, or the system has nothing of the kind.
  }
}

/** `512 MiB` */
export function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2)} MiB`;
}
