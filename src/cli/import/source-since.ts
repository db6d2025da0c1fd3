import { readRunRows } from '../../imports/run/run-rows.ts';
import { SourceError, SourceWaitError, StillWrittenError } from '../../imports/source.ts';
import { findChanges, type SourceChange } from '../../imports/stages/export/source-changes.ts';
import type { Run } from '../../imports/run/run.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { CommandError } from '../exit-codes.ts';
import { openSource } from './open-source.ts';
import type { ImportRequest } from './request.ts';
import type { ImportDir } from './state-dir.ts';

interface SourceSinceDeps {
  readonly db: Metadata;
  readonly dir: ImportDir;
  readonly request: ImportRequest;
  /** Called with the reason when the source cannot be checked. */
  readonly onTrouble: (reason: string) => void;
}

interface SourceSince {
  /** Parts that were read and have changed, or are new. */
  readonly changed: readonly SourceChange[];
  /** New parts of a source that cannot detect changes: days that have passed. */
  readonly later: readonly SourceChange[];
}

const nothing: SourceSince = { changed: [], later: [] };

/**
 * Returns what has changed at the source since the export. Errors: CommandError failed, when the source is being written to.
 *
 * @param quick skips parts that would have to be read again, and snapshots
 */
export async function sourceSince(deps: SourceSinceDeps, run: Run, { quick = false } = {}): Promise<SourceSince> {
  const { db, dir, request, onTrouble } = deps;
  const stored = await readRunRows(db, run.id).parts();
  const { source, close } = openSource(request, dir.temp);
  // What was read is the question, not what a new import would read.
  const context = { signal: new AbortController().signal, holdsSnapshot: true, ...(quick && { known: stored }) };
  try {
    const all = await source.listParts(run.options.range, context);
    const listed = quick ? all.filter(({ isSnapshot }) => isSnapshot !== true) : all;
    const found = (await findChanges({ source, context }, listed, stored)).filter(({ kind }) => kind !== 'touched');
    const isTrial = run.options.limit !== undefined;
    return {
      changed: found.filter((each) => each.kind === 'changed' || (!isTrial && each.listed.identity !== undefined)),
      later: found.filter((each) => each.kind === 'added' && !isTrial && each.listed.identity === undefined),
    };
  } catch (error) {
    if (error instanceof StillWrittenError && !quick) throw new CommandError('failed', error.message, { cause: error });
    if (!(error instanceof SourceError) && !(error instanceof SourceWaitError)) throw error;
    onTrouble(error.message);
    return nothing;
  } finally {
    await source.release?.();
    await close();
  }
}
