import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { TestServer } from './server.ts';

/** Whether this system tells about processes under /proc. */
export const hasProc = existsSync('/proc/self/status');

type Parent = { readonly child: Pick<TestServer['child'], 'pid'> };

function childrenOf(parent: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const stat = readOfProcess(Number(name), 'stat');
    // pid (command) state parent …; the command may hold anything.
    return Number(stat.replace(/^.*\) /s, '').split(' ')[1]) === parent ? [Number(name)] : [];
  });
}

/** Empty when the process has ended meanwhile. */
function readOfProcess(pid: number, file: 'stat' | 'status' | 'cmdline' | 'environ'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** Processes below the server's own whose command names one of these files: what is built, or the sources. */
function pidsOf({ child }: Parent, ...files: readonly string[]): number[] {
  return childrenOf(child.pid ?? 0).filter((pid) => {
    const command = readOfProcess(pid, 'cmdline');
    return files.some((file) => command.includes(file));
  });
}

/** The process of the embedded event store; `undefined` while it does not run. */
export function storePid(server: Pick<TestServer, 'child'>): number | undefined {
  return pidsOf(server, 'dist/store-process.js', 'src/stores/events/chdb/process.ts')[0];
}

/** The processes of plugins, as many as there are. */
export function sandboxPids(server: Pick<TestServer, 'child'>): number[] {
  return pidsOf(server, 'dist/plugin-process.js', 'src/plugins/sandbox/child/main.ts');
}

/** The import process; `undefined` while it does not run. */
export function importPid(server: Pick<TestServer, 'child'>): number | undefined {
  return pidsOf(server, 'dist/import-process.js', 'src/server/service/import-process.ts')[0];
}

/** The processes of previews and preflights, one each. */
export function previewPids(server: Parent): number[] {
  return pidsOf(server, 'dist/import-preview-process.js', 'src/server/service/import-preview-process.ts');
}

/** What a process was started with, as every process of its user can read it. */
export function startedWith(pid: number): string {
  return readOfProcess(pid, 'cmdline') + readOfProcess(pid, 'environ');
}

/** As storePid, where it must be there. */
export function runningStorePid(server: Pick<TestServer, 'child'>): number {
  const pid = storePid(server);
  if (pid === undefined) throw new Error('expected the event store to run');
  return pid;
}

/**
 * Keeps the event store from answering during `work`: the service ends a process of it that stands still for ten seconds and starts
 * another, which is stopped as well, so that a check every ten seconds detects it.
 */
export async function whileStoreStands(server: Pick<TestServer, 'child'>, work: () => Promise<void>): Promise<void> {
  process.kill(runningStorePid(server), 'SIGSTOP');
  const stopping = setInterval(() => signalStore(server, 'SIGSTOP'), 100);
  try {
    await work();
  } finally {
    clearInterval(stopping);
    signalStore(server, 'SIGCONT');
  }
}

/** Does nothing while it does not run. */
function signalStore(server: Pick<TestServer, 'child'>, signal: 'SIGSTOP' | 'SIGCONT'): void {
  const pid = storePid(server);
  if (pid === undefined) return;
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It has ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Processes whose command line names this place. */
export function pidsNaming(path: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => readOfProcess(pid, 'cmdline').includes(path));
}

/** Most memory that the server's own process (not the event store's) has ever leased, MiB. */
export function peakMemory(server: Pick<TestServer, 'child'>): number {
  const status = readOfProcess(server.child.pid ?? 0, 'status');
  const kibibytes = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]);
  if (!(kibibytes > 0)) throw new Error('expected /proc to tell the memory of the server');
  return kibibytes / 1024;
}

/** Memory that a process has at this moment, MiB; 0 where there is no such process, or where /proc does not tell. */
export function residentMiB(pid: number | undefined): number {
  const kibibytes = Number(
    /^VmRSS:\s+(\d+) kB$/m.exec(pid === undefined ? '' : readOfProcess(pid, 'status'))?.[1] ?? 0,
  );
  return kibibytes / 1024;
}
