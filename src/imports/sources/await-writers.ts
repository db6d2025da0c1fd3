import { sleep as standardSleep, type Sleep } from '../../base/retry.ts';
import { StillWrittenError } from '../source.ts';
import type { FoundFile } from './find-files.ts';

export interface AwaitWritersDeps {
  /** The file as it is now. */
  readonly look: (file: FoundFile) => Promise<FoundFile>;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly sleep?: Sleep | undefined;
  readonly signal: AbortSignal;
}

/** A file that was changed within so much time may be in somebody's hands still. */
const freshMs = 3000;
/** Much longer than clocks of file systems tick: two writes within one tick leave one time. */
const lookAgainMs = 150;

/**
 * Looks twice at files that were changed just now.
 * @throws StillWrittenError for one that is still being written
 */
export async function awaitWriters(files: readonly FoundFile[], deps: AwaitWritersDeps): Promise<void> {
  const now = deps.now();
  const fresh = files.filter(({ modifiedAt }) => Math.abs(now - modifiedAt) < freshMs);
  if (fresh.length === 0) return;
  await (deps.sleep ?? standardSleep)(lookAgainMs, deps.signal);
  for (const file of fresh) {
    const again = await deps.look(file);
    if (again.identity !== file.identity) throw stillWritten(file, again);
  }
}

function stillWritten({ shown, bytes }: FoundFile, again: FoundFile): StillWrittenError {
  const how =
    again.bytes === bytes ? 'it was changed just now' : `it went from ${bytes} to ${again.bytes} bytes just now`;
  return new StillWrittenError(
    `${shown} is still being written: ${how}; wait until that is done, or import a copy of what is there`,
  );
}
