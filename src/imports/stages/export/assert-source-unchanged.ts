import { RunFailedError, type LeasedRun } from '../../run/leased-run.ts';
import { SourceError, SourceWaitError, StillWrittenError, type Source } from '../../source.ts';
import { describeChanges, findChanges } from './source-changes.ts';

/**
 * Before anything is sent: what was read is what is there. New parts are no reason to stop, they have come later; nor is a
 * source that cannot be asked any more: its export was complete.
 * @throws RunFailedError when a part has another content than what was read
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
      throw new RunFailedError(`expected the source to be as it was read, but ${error.message}; nothing was sent`, {
        advice: 'startAgain',
        cause: error,
      });
    }
    if (error instanceof RunFailedError || error instanceof SourceError || error instanceof SourceWaitError) return;
    throw error;
  }
}

class SourceUnlikeRunError extends Error {
  override name = 'SourceUnlikeRunError';
}

/** In words; undefined: there are none. */
async function changesIn(source: Source, leased: LeasedRun): Promise<string | undefined> {
  const context = { signal: leased.signal, holdsSnapshot: true };
  try {
    const listed = await source.listParts(leased.run.options.range, context);
    const lasting = listed.filter(({ isSnapshot }) => isSnapshot !== true);
    const found = await findChanges({ source, context }, lasting, await leased.parts());
    const changed = found.filter(({ kind }) => kind === 'changed');
    return changed.length === 0 ? undefined : describeChanges(changed);
  } finally {
    await source.release?.();
  }
}
