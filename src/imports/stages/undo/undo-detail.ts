import { unfinishedRebuilds, type Rebuild } from '../../../stores/metadata/profile-rebuilds.ts';
import type { Queries } from '../../../stores/metadata/queries.ts';
import type { Run } from '../../run/run.ts';
import type { UndoWork } from './undo-progress.ts';

/** State of an undo that must survive a crash, kept with the rebuild. */
export interface UndoDetail extends UndoWork {
  /** Runs queued to load again. */
  readonly loadedAgain?: readonly string[];
  /** Runs whose turn has come, queued or not. Missing in undos that an earlier version began: it queued all runs at once. */
  readonly asked?: readonly string[];
}

export function detailOf(rebuild: Pick<Rebuild, 'detail'> | undefined): UndoDetail | undefined {
  // The undo wrote it; null if it was interrupted before.
  return (rebuild?.detail as UndoDetail | null | undefined) ?? undefined;
}

/** Returns whether an undo of another run has queued this run to load again, and continues only afterwards. */
export async function isAwaitedByUndo(db: Queries, { id, projectId }: Pick<Run, 'id' | 'projectId'>): Promise<boolean> {
  const rebuilds = await unfinishedRebuilds(db, projectId);
  return rebuilds.some((rebuild) => rebuild.id !== id && detailOf(rebuild)?.loadedAgain?.includes(id) === true);
}
