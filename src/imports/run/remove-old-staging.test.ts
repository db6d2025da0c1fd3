import { dayMs, hourMs } from '../../base/time.ts';
import { access, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withStaging, type Kept } from '../../../test/support/kept-runs.ts';
import { createProject, deleteProject } from '../../stores/metadata/projects.ts';
import { createAccount } from '../../../test/support/metadata-rows.ts';
import { removeOfDeletedProjects, removeOldStaging } from './remove-old-staging.ts';
import { createRun, getRun } from './run-store.ts';
import { cancelRun, pauseRun, retryRejected } from './run-transitions.ts';
import { claimRun, completeRun, enterStage, failRun } from './claim-run.ts';
import { stagingKeys, type Staging } from '../staging.ts';
import { newRun, start } from '../../../test/support/runs.ts';

const ends = ['exact', 'different', 'unverified', 'checked', 'failed', 'cancelled'];

/** Ends one run in each possible way, with files of every kind. */
async function endRuns({ db, staging, project }: Kept): Promise<void> {
  for (const id of ends) {
    await createRun(db, newRun({ id, ...project }));
    // Files of days are from an earlier version.
    for (const key of [stagingKeys.segment(id, 1, 0), stagingKeys.findings(id, 1, 0), `${id}/days/2024-01-01.zst`])
      await staging.write(key, [Buffer.from('x')]);
    await staging.write(stagingKeys.rejected(id, 'check'), [Buffer.from('x')]);
    const claim = await claimRun(db, start, 1000, { onlyRun: id });
    if (claim === undefined) throw new Error('expected the run to be due');
    await enterStage(db, claim, id === 'checked' ? 'check' : 'report');
    if (id === 'exact' || id === 'different') {
      await staging.write(stagingKeys.verify(id), [Buffer.from(JSON.stringify({ verdict: id }))]);
    }
    if (id === 'cancelled') await cancelRun(db, id, start);
    else if (id === 'failed') await failRun(db, claim, 'no', start);
    else await completeRun(db, claim, start);
  }
}

async function foldersOf(staging: Staging, id: string): Promise<(string | undefined)[]> {
  return (await staging.list(`${id}/`)).map(({ key }) => key.split('/')[1]);
}

describe('staged records of runs that ended', () => {
  it('are removed after their days, except rejected records, results, and runs that a user has to examine', () =>
    withStaging(async (kept) => {
      const { db, staging } = kept;
      await endRuns(kept);
      const deps = { db, staging, keepDays: 7 };
      expect(await removeOldStaging(deps, start + 6 * dayMs)).toEqual([]);
      expect((await removeOldStaging(deps, start + 8 * dayMs)).toSorted()).toEqual([
        'cancelled',
        'exact',
        'unverified',
      ]);
      for (const id of ends) {
        const files = await foldersOf(staging, id);
        const gone = ['cancelled', 'exact', 'unverified'].includes(id);
        expect(files.filter((folder) => ['parts', 'checked', 'days'].includes(folder ?? ''))).toHaveLength(
          gone ? 0 : 3,
        );
        expect(files).toContain('rejected');
      }
      await expect(retryRejected(db, 'exact')).rejects.toThrow('its staged records are removed');
      // An interrupted removal is repeated, and then done.
      expect(await removeOldStaging(deps, start + 8 * dayMs)).toHaveLength(3);
      expect(await removeOldStaging(deps, start + 10 * dayMs)).toEqual([]);
    }));

  it('are removed in one pass, no matter how many runs before keep theirs', () =>
    withStaging(async ({ db, staging, project }) => {
      const ids = Array.from({ length: 25 }, (_, index) => `r${String(index).padStart(3, '0')}`);
      for (const id of ids) {
        await createRun(db, newRun({ id, ...project }));
        await staging.write(stagingKeys.segment(id, 1, 0), [Buffer.from('x')]);
        await cancelRun(db, id, start);
      }
      // All runs of the first page keep theirs.
      for (const id of ids.slice(0, 10)) {
        await db.updateTable('import_runs').set({ state: 'completed', stage: 'report' }).where('id', '=', id).execute();
        await staging.write(stagingKeys.verify(id), [Buffer.from(JSON.stringify({ verdict: 'different' }))]);
      }
      expect(await removeOldStaging({ db, staging, keepDays: 7, runsPerPage: 10 }, start + 8 * dayMs)).toEqual(
        ids.slice(10),
      );
      expect(await foldersOf(staging, 'r024')).toEqual([]);
      expect(await foldersOf(staging, 'r000')).toContain('parts');
    }));

  it('are removed for every run of a deleted config: none waits for a user any more', () =>
    withStaging(async (kept) => {
      const { db, staging, project } = kept;
      await endRuns(kept);
      await createRun(db, newRun({ id: 'paused', ...project }));
      await pauseRun(db, 'paused');
      await createRun(db, newRun({ id: 'queued', ...project }));
      await db.deleteFrom('plugin_configs').where('id', '=', project.configId).execute();
      const deps = { db, staging, keepDays: 7 };
      await removeOldStaging(deps, start + 8 * dayMs);
      expect([(await getRun(db, 'paused'))?.state, (await getRun(db, 'failed'))?.state]).toEqual([
        'cancelled',
        'cancelled',
      ]);
      // Its staged records may still be loaded.
      expect((await getRun(db, 'queued'))?.state).toBe('queued');
      await removeOldStaging(deps, start + 16 * dayMs);
      for (const id of ends) expect(await foldersOf(staging, id)).not.toContain('parts');
    }));
});

describe('files of imports of a deleted project', () => {
  it('are removed, staged, rejected and uploaded ones, also what a worker wrote late; those of others stay', () =>
    withStaging(async (kept) => {
      const { db, staging, dir, project } = kept;
      await endRuns(kept);
      await createRun(db, newRun({ id: 'other', projectId: 99, configId: 0 }));
      await staging.write(stagingKeys.segment('other', 1, 0), [Buffer.from('x')]);
      const { organizationId } = await createAccount(db);
      const alive = await createProject(db, { organizationId, name: 'Alive' }, start);
      const uploads = join(dir, 'uploads');
      for (const id of [project.projectId, alive.id]) {
        await mkdir(join(uploads, String(id)), { recursive: true });
        await writeFile(join(uploads, String(id), 'a.ndjson'), '{}');
      }
      const remove = (now: number): Promise<void> => removeOfDeletedProjects({ db, staging }, uploads, now);
      await remove(Date.now());
      expect(await staging.list('exact/')).not.toEqual([]);

      expect(await deleteProject(db, project.projectId)).toBe(true);
      await remove(Date.now());
      for (const id of ends) expect(await staging.list(`${id}/`)).toEqual([]);
      expect(await staging.list('other/')).toHaveLength(1);
      await expect(access(join(uploads, String(project.projectId)))).rejects.toThrow('ENOENT');
      await access(join(uploads, String(alive.id), 'a.ndjson'));

      await staging.write(stagingKeys.segment('exact', 1, 1), [Buffer.from('late')]);
      await remove(Date.now() + 2 * hourMs);
      expect(await staging.list('exact/')).toEqual([]);
      expect(await db.selectFrom('import_leftovers').selectAll().execute()).toEqual([]);
    }));
});
