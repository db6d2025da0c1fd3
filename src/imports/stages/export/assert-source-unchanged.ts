import { RunFailedError, type LeasedRun } from '../../run/leased-run.ts';
import { SourceError, SourceWaitError, StillWrittenError, type Source } from '../../source.ts';
import { describeChanges, findChanges } from './source-changes.ts';

/**
 * Asserts before anything is sent that the source still has what was read. New parts do not matter, because they are newer than the
 * export; nor does an unreachable source, because its export was complete.
 * @throws RunFailedError if the content of a part differs from what was read
 */
export async function assertSourceUnchanged(openSource: () => Promise<Source>, leased: LeasedRun): Promise<void> {
  if ((leased.run.progress.load?.done ?? 0) > 0) return;
  try {
    const source = await openSource();
    const changes = await changesIn(source, leased);
    if (changes !== undefined) throw new SourceUnlikeRunError(changes);
  } catch (error) {
    leased.signal.throwIfAborted();
    if (error instanceof SourceUnlikeRunError || error instanceof StillWrittenError) {
      throw new RunFailedError(
        `expected the source to be unchanged since it was read, but ${error.message}; nothing was sent`,
        {
          advice: 'startAgain',
          cause: error,
        },
      );
    }
    if (error instanceof RunFailedError || error instanceof SourceError || error instanceof SourceWaitError) return;
    throw error;
  }
}

class SourceUnlikeRunError extends Error {
  override name = 'SourceUnlikeRunError';
}

/** Describes changes; `undefined` if the source has none. */
async function changesIn(source: Source, leased: LeasedRun): Promise<string | undefined> {
  const known = await leased.parts();
  const context = { signal: leased.signal, holdsSnapshot: true, known };
  try {
    const listed = await source.listParts(leased.run.options.range, context);
    const lasting = listed.filter(({ isSnapshot }) => isSnapshot !== true);
    const found = await findChanges({ source, context }, lasting, known);
    const changed = found.filter(({ kind }) => kind === 'changed');
    return changed.length === 0 ? undefined : describeChanges(changed);
  } finally {
    await source.release?.();
  }
}
