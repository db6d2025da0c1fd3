import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the file that exists in a data directory from the first byte of a restore until everything has been counted. */
export function restoreFile(dataDir: string): string {
  return join(dataDir, 'restore.json');
}

/** Returns why a service must not start in this directory, or `undefined` if it may. */
export function restoreProblem(dataDir: string): string | undefined {
  if (!existsSync(restoreFile(dataDir))) return undefined;
  return `expected a data directory in use, got ${dataDir}, which "millrace restore" has begun to fill; run the same restore again to the end`;
}
