import { availableParallelism } from 'node:os';

/** Tasks that may wait for one of the threads. */
const tasksMin = 16;
const threadsMax = 16;

/**
 * How the engine merges and deletes. Whatever does not fit the queue of its background threads is tried again after a pause that
 * grows. By itself the embedded engine has room for two tasks per processor, and a delete, which is a task for every part, then
 * spends all of its time on pauses: 18 s for 120 parts on two processors, with half a second of work.
 */
export function backgroundArgs(processors = availableParallelism()): readonly string[] {
  const threads = Math.min(threadsMax, Math.max(2, processors));
  const tasks = Math.max(2, Math.ceil(tasksMin / threads));
  return [`--background_pool_size=${threads}`, `--background_merges_mutations_concurrency_ratio=${tasks}`];
}
