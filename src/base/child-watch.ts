/** Limits for a child process that processes untrusted input; the parent checks them and kills it. */
import type { ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const pollMs = 50;
const pageBytes = 4096;

/** Resident memory of a process. 0 if it has ended or the system does not provide it. */
export function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1] ?? 0) * pageBytes;
  } catch {
    return 0;
  }
}

/**
 * Calls `exceed` once when the process has more than `bytesMax` of memory of any kind. A heap limit covers neither buffers nor
 * native allocations.
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

/** Makes the system kill this process first when memory runs out, not its parent. */
export function offerToOutOfMemory({ pid }: ChildProcess): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // The process has ended, or the system does not support it.
  }
}

/** `512 MiB` */
export function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2)} MiB`;
}
