import { availableParallelism } from 'node:os';

/** Limited because each thread costs memory. */
const standardMax = 8;

/** Returns the number of threads for a check. `requested` 0 means as many as there are cores, up to a limit. */
export function threadCount(requested: number): number {
  return requested === 0 ? Math.min(availableParallelism(), standardMax) : requested;
}
