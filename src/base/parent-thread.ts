/** Thread that ends its process when the parent is gone. Started by end-with-parent.ts. */
import { workerData } from 'node:worker_threads';

const pollMs = 500;

setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL');
}, pollMs);
