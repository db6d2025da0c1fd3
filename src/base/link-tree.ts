import { constants, copyFileSync, linkSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Gives every file below `from` a second name below `to`, which is made: as quick as it is small, and what is there stays there
 * whatever becomes of `from`, except for files that are written in place. Copies where the file system knows no second names. Symbolic
 * links are made anew.
 * @returns false: something was removed meanwhile, and is not there
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

/** Does `work` with a file that others may remove meanwhile. @returns false: it is gone */
export function unlessGone(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    return false;
  }
}

/** EMLINK: the file has as many names as it can have. */
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
