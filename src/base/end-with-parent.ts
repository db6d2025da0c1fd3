/** Ends a child process when its parent is gone, whatever it is doing. */
import { Worker } from 'node:worker_threads';

export function endWithParent(): void {
  process.on('disconnect', endNow);
  // Ctrl-C and service managers signal the whole group; the parent decides when this process ends.
  process.on('SIGTERM', () => undefined).on('SIGINT', () => undefined);
  // The main thread may be stuck in a loop, or in native code.
  new Worker(new URL('./parent-thread.ts', import.meta.url), {
    workerData: process.ppid,
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  }).unref();
}

/** Called before the process exits on its own. */
export function leaveParent(): void {
  process.off('disconnect', endNow);
  process.disconnect();
}

function endNow(): void {
  process.kill(process.pid, 'SIGKILL');
}
