/** A thread that ends its process when the one that has started it is gone. Started by end-with-parent.ts. */
import { workerData } from 'node:worker_threads';

const pollMs = 500;

setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL');
}, pollMs);
