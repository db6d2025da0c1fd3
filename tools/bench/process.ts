import { fork, type ChildProcess } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';

/**
 * CPU seconds (user and system, every thread) of a process and all its descendants, also of those that have ended and were waited
 * for. Linux only.
 */
export function cpuSecondsOfTree(pid: number): number {
  return processTree(pid).reduce((sum, member) => sum + cpuSeconds(member), 0);
}

/** Resident memory in bytes of a process and all its living descendants. */
export function residentBytesOfTree(pid: number): number {
  return processTree(pid).reduce((sum, member) => sum + residentBytes(member), 0);
}

/** Figures of one process, without its children. */
export function residentBytes(pid: number): number {
  return Number(readProc(pid, 'statm').split(' ')[1] ?? 0) * 4096;
}

const ticksPerSecond = 100;

function cpuSeconds(pid: number): number {
  // Fields after the command name, which may contain spaces: state is number 3, utime 14, stime 15; 16 and 17 are those of ended
  // children.
  const fields = readProc(pid, 'stat')
    .replace(/^.*\) /s, '')
    .split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return ticks / ticksPerSecond;
}

function processTree(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const parent = Number(
      readProc(pid, 'stat')
        .replace(/^.*\) /s, '')
        .split(' ')[1] ?? 0,
    );
    parents.set(pid, parent);
  }
  const members = [root];
  for (const member of members) for (const [pid, parent] of parents) if (parent === member) members.push(pid);
  return members;
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // The process ended between listing and reading and has no figures.
    return '';
  }
}

export interface BenchChild {
  readonly pid: number;
  readonly url: string;
  stop(): Promise<void>;
}

/** Forks a bench server that sends `{url}` once it listens. */
export async function forkServer(file: URL, args: readonly string[]): Promise<BenchChild> {
  const child: ChildProcess = fork(file, [...args], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('message', (message) => resolve((message as { url: string }).url));
    child.once('exit', (code) => reject(new Error(`expected ${file.pathname} to listen, it ended with ${code}`)));
  });
  return {
    pid: child.pid ?? 0,
    url,
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve());
        child.kill('SIGTERM');
      }),
  };
}
