import { expect, it } from 'vitest';
import { tempChdb } from '../../../test/support/chdb.ts';
import { withStaging } from '../../../test/support/kept-runs.ts';
import { insertSegment, runRow } from '../../../test/support/run-table-rows.ts';
import { newRun, start } from '../../../test/support/runs.ts';
import { dayMs } from '../../base/time.ts';
import { deleteProject } from '../../stores/metadata/projects.ts';
import { claimRun, completeRun, enterStage } from './claim-run.ts';
import { removeLostTables } from './remove-lost-tables.ts';
import { removeOldStaging } from './remove-old-staging.ts';
import { createRun } from './run-store.ts';
import { cancelRun, pauseRun, undoRun } from './run-transitions.ts';

it('tables of runs are removed with the staged records, the run and the project; those of all other runs stay', () =>
  withStaging(async ({ db, staging, project }) => {
    await using stack = new AsyncDisposableStack();
    const chdb = await tempChdb();
    stack.defer(() => chdb.close());
    const tables = chdb.store.runTables;
    const { projectId } = project;
    for (const runId of ['completed', 'cancelled', 'undone-now', 'paused', 'working', 'removed', 'queued']) {
      await createRun(db, newRun({ id: runId, ...project }));
      await tables.create({ projectId, runId });
      await insertSegment(chdb.store, { projectId, runId }, '0', [runRow({ projectId, runId }, 0)]);
    }
    const take = async (onlyRun: string) => {
      const claim = await claimRun(db, start, 1000, { onlyRun });
      if (claim === undefined) throw new Error('expected the run to be due');
      return claim;
    };
    const completed = await take('completed');
    await enterStage(db, completed, 'report');
    await completeRun(db, completed, start);
    await take('working');
    await cancelRun(db, 'cancelled', start);
    await cancelRun(db, 'undone-now', start);
    await pauseRun(db, 'paused');
    await db.deleteFrom('import_runs').where('id', '=', 'removed').execute();
    await tables.create({ projectId: 7, runId: 'of-another-project' });
    const removed = async () => (await removeLostTables({ db, tables })).map(({ runId }) => runId);
    const listed = async () => (await tables.list()).map(({ runId }) => runId).toSorted();

    expect((await removed()).toSorted()).toEqual(['of-another-project', 'removed']);
    expect(await removed()).toEqual([]);
    await removeOldStaging({ db, staging, keepDays: 7 }, start + 8 * dayMs);
    await undoRun(db, 'undone-now');
    expect((await removed()).toSorted()).toEqual(['cancelled', 'completed']);
    expect(await listed()).toEqual(['paused', 'queued', 'undone-now', 'working']);
    expect(await tables.partitions({ projectId, runId: 'working' })).toMatchObject([{ rows: 1 }]);

    expect(await deleteProject(db, projectId)).toBe(true);
    await removed();
    expect(await listed()).toEqual([]);
  }));
