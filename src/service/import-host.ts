import { hostThread, type HostDeps, type ThreadHost } from './host-thread.ts';
import type { ImportThreadData } from './import-thread.ts';

/**
 * Works on import runs in a thread of its own, and starts it again when it dies. Runs go on where they were: each stage keeps
 * its place in the metadata store.
 */
export function hostImports(data: ImportThreadData, deps: HostDeps): ThreadHost {
  return hostThread({ name: 'imports', entry: new URL('./import-thread.ts', import.meta.url), data }, deps);
}
