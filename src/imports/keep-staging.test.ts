import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempMetadata } from '../../test/support/metadata.ts';
import { removeOldStaging } from './keep-staging.ts';
import { cancelRun, claimRun, completeRun, createRun, enterStage, failRun, retryRejected } from './run-store.ts';
import { openDirStaging } from './staging/dir-staging.ts';
import { stagingKeys } from './staging.ts';
import { newRun, start } from './test-runs.ts';

const dayMs = 86_400_000;

describe('staging of runs that ended', () => {
  it('goes after its days, but for what was rejected, the results, and runs that somebody has to look at', async () => {
    await using store = await tempMetadata();
    const { db } = store;
    const dir = await mkdtemp(join(tmpdir(), 'millrace-keep-'));
    try {
      const staging = await openDirStaging(dir);
      const ends = ['exact', 'different', 'unverified', 'checked', 'failed', 'cancelled'];
      for (const id of ends) {
        await createRun(db, newRun({ id }));
        for (const key of [
          stagingKeys.segment(id, 1, 0),
          stagingKeys.spill(id, 1, 0),
          stagingKeys.day(id, '2024-01-01'),
        ])
          await staging.write(key, [Buffer.from('x')]);
        await staging.write(stagingKeys.rejected(id, 'check'), [Buffer.from('x')]);
        const claim = await claimRun(db, start, 1000, { onlyRun: id });
        if (claim === undefined) throw new Error('expected the run to be due');
        await enterStage(db, claim, id === 'checked' ? 'check' : 'report');
        if (id === 'exact' || id === 'different') {
          const verdict = Buffer.from(JSON.stringify({ verdict: id }));
          await staging.write(stagingKeys.verify(id), [verdict]);
        }
        if (id === 'cancelled') await cancelRun(db, id, start);
        else if (id === 'failed') await failRun(db, claim, 'no', start);
        else await completeRun(db, claim, start);
      }
      const deps = { db, staging, keepDays: 7 };
      expect(await removeOldStaging(deps, start + 6 * dayMs)).toEqual([]);
      expect((await removeOldStaging(deps, start + 8 * dayMs)).toSorted()).toEqual([
        'cancelled',
        'exact',
        'unverified',
      ]);
      for (const id of ends) {
        const files = (await staging.list(`${id}/`)).map(({ key }) => key.split('/')[1]);
        const gone = ['cancelled', 'exact', 'unverified'].includes(id);
        expect(files.filter((folder) => ['parts', 'spills', 'days'].includes(folder ?? ''))).toHaveLength(gone ? 0 : 3);
        expect(files).toContain('rejected');
      }
      await expect(retryRejected(db, 'exact')).rejects.toThrow('its staged records are removed');
      // A removal that was cut short is done again, and then no more.
      expect(await removeOldStaging(deps, start + 8 * dayMs)).toHaveLength(3);
      expect(await removeOldStaging(deps, start + 10 * dayMs)).toEqual([]);
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });
});
