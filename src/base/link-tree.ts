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
  const unlessGone = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      isWhole = false;
    }
  };
  mkdirSync(to, { recursive: true, mode: 0o700 });
  unlessGone(() => {
    for (const entry of readdirSync(from, { withFileTypes: true })) {
      const [source, copy] = [join(from, entry.name), join(to, entry.name)];
      if (entry.isDirectory()) isWhole = linkTree(source, copy) && isWhole;
      else if (entry.isSymbolicLink()) unlessGone(() => symlinkSync(readlinkSync(source), copy));
      else if (entry.isFile()) unlessGone(() => linkFile(source, copy));
    }
  });
  return isWhole;
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
