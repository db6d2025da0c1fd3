import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

/**
 * The directory where this process keeps compiled code, for its children that do not inherit the environment. A process that is
 * killed and a thread that is terminated store what they compiled only with `flushCompileCache`.
 */
export function compileCacheDir(): string | undefined {
  const ofThisVersion = getCompileCacheDir();
  return ofThisVersion === undefined ? undefined : dirname(ofThisVersion);
}
