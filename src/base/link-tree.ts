import { constants, copyFileSync, linkSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Hard-links every file below `from` into `to`, which is created. Fast, and the content stays whatever happens to `from`,
 * except for files that are written in place. Copies if the file system does not support links. Symbolic links are recreated.
 * @returns false if something was removed in the meantime and is missing
 */
export function linkTree(from: string, to: string): boolean {
  let isWhole = true;
  mkdirSync(to, { recursive: true, mode: 0o700 });
  const isThere = unlessGone(() => {
    for (const entry of readdirSync(from, { withFileTypes: true })) {
      const [source, copy] = [join(from, entry.name), join(to, entry.name)];
      if (entry.isDirectory()) isWhole = linkTree(source, copy) && isWhole;
      else if (entry.isSymbolicLink()) isWhole = unlessGone(() => symlinkSync(readlinkSync(source), copy)) && isWhole;
      else if (entry.isFile()) isWhole = unlessGone(() => linkFile(source, copy)) && isWhole;
    }
  });
  return isThere && isWhole;
}

/** Runs `work` on a file that others may remove concurrently. @returns false if it is gone */
export function unlessGone(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    return false;
  }
}

/** EMLINK: the file has the maximum number of links. */
const cannotLink = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'EMLINK', 'ENOSYS']);

function linkFile(source: string, copy: string): void {
  try {
    linkSync(source, copy);
  } catch (error) {
    if (!cannotLink.has(codeOf(error) ?? '')) throw error;
    copyFileSync(source, copy, constants.COPYFILE_FICLONE);
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
