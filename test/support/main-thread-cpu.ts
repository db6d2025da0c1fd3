import { readFileSync } from 'node:fs';

/** Milliseconds of the processor that the main thread of a process has used; Linux only. */
export function mainThreadCpuMs(pid: number): number {
  const [nanoseconds] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1e6;
}

/** What the work costs the main thread beyond what it uses anyway, from its start until the thread is idle again. */
export async function costOf(pid: number, work: () => Promise<unknown>): Promise<number> {
  const before = mainThreadCpuMs(pid);
  await work();
  await untilIdle(pid);
  return mainThreadCpuMs(pid) - before;
}

const pollMs = 50;
/** Timers and heartbeats of an idle service take less. */
const idleCpuMs = 5;
const pollsMax = 100;

async function untilIdle(pid: number): Promise<void> {
  for (let look = 0; look < pollsMax; look++) {
    const before = mainThreadCpuMs(pid);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    if (mainThreadCpuMs(pid) - before < idleCpuMs) return;
  }
}
