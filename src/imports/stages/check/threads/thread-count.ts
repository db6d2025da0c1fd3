import { availableParallelism } from 'node:os';

/** Memory is what more of them cost most. */
const standardMax = 8;

/** Threads for a check. `asked`: 0 for as many as there are cores, within a limit. */
export function threadCount(asked: number): number {
  return asked === 0 ? Math.min(availableParallelism(), standardMax) : asked;
}
