import { ApiError } from '../../wire/contract/errors.ts';
import { findRemovedRun, type RemovedRun } from '../../stores/metadata/import-loads.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { getRun } from './run-store.ts';
import { allowedActions, type Run, type RunOptions } from './run.ts';

/**
 * Refuses runs that cannot be undone when they are named, not hours later. `run` is the replacing run if it exists already.
 * @throws ApiError invalid_input, conflict
 */
export async function refuseReplace(
  tx: Queries,
  { projectId, run: own }: { readonly projectId: number; readonly run?: Run },
  replace: RunOptions['replace'],
): Promise<void> {
  if (replace !== undefined && own !== undefined && own.options.target.kind !== 'project') {
    throw new ApiError(
      'conflict',
      `Run ${own.id} sends its events to another service; its earlier runs are undone there.`,
    );
  }
  if (replace === undefined || replace === true) return;
  for (const id of replace) {
    const run = await getRun(tx, id, { projectId });
    const removed = run === undefined ? await findRemovedRun(tx, id, { projectId }) : undefined;
    if (removed !== undefined) {
      throw new ApiError('conflict', `Run ${id} cannot be replaced: ${removedText(removed)}.`, { attr: 'replace' });
    }
    if (run === undefined || id === own?.id) {
      throw new ApiError(
        'invalid_input',
        `Expected another run of this project to replace, got: ${id.slice(0, 100)}.`,
        {
          attr: 'replace',
        },
      );
    }
    const why = whyNot(run);
    if (why !== undefined) throw new ApiError('conflict', `Run ${id} cannot be replaced: ${why}.`, { attr: 'replace' });
  }
}

/** Says why a removed run cannot be used. */
export function removedText({ removedAt }: RemovedRun): string {
  return `it was removed on ${removedAt.slice(0, 10)}, as old scheduled runs are; what it stored remains`;
}

function whyNot(run: Run): string | undefined {
  const { state, stage, options } = run;
  if (options.target.kind !== 'project') return 'it sent its events to another service';
  if (state === 'undone') return 'it is already undone';
  if (stage === 'undo' || allowedActions(run).includes('undo')) return undefined;
  return state === 'paused' ? 'it is paused; cancel it, or let it finish' : `it is ${state}; wait until it has ended`;
}
