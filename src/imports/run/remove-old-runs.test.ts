import { describe, expect, it } from 'vitest';
import { withStaging, type Kept } from '../../../test/support/kept-runs.ts';
import { newRun, runOptions, start } from '../../../test/support/runs.ts';
import { isoMicros } from '../../base/clock.ts';
import { dayMs, hourMs } from '../../base/time.ts';
import { findRemovedRun } from '../../stores/metadata/import-loads.ts';
import { stagingKeys } from '../staging.ts';
import { claimRun, completeRun, enterStage } from './claim-run.ts';
import { refuseReplace } from './refuse-replace.ts';
import { removeOldRuns } from './remove-old-runs.ts';
import { removeOfDeletedProjects } from './remove-old-staging.ts';
import { createRun, getRun } from './run-store.ts';
import { verifyAgain } from './run-transitions.ts';
import { noTotals, type RunOptions, type RunTotals } from './run.ts';
import { findSameRecords } from './same-records.ts';

const options: RunOptions = { ...runOptions, scheduled: true };
const loadedAll = { ...noTotals, records: 9, events: 9, loaded: 9, verified: 9, stored_before: 0 };
const nothing = { ...loadedAll, stored_before: 9 };
const segment = { records: 9, rawBytes: 1, bytes: 1, sha256: 'a' };

/** Creates a run and ends it like a worker. */
async function end({ db, staging, project }: Kept, id: string, totals: RunTotals, as = options): Promise<void> {
  await createRun(db, newRun({ id, ...project, options: as }));
  const claim = await claimRun(db, start, 1000, { onlyRun: id });
  if (claim === undefined) throw new Error('expected the run to be due');
  const owned = { run_id: id, project_id: project.projectId };
  const part = {
    ...owned,
    seq: 1,
    key: 'a',
    bytes: null,
    identity: null,
    checksum: null,
    stable: 1,
    detail: null,
  } as const;
  const checked = {
    segments: JSON.stringify([segment]),
    complete: 1,
    faults: 0,
    checked: 1,
    check_state: '',
    error: '',
  } as const;
  await db
    .insertInto('import_parts')
    .values({ ...part, ...checked })
    .execute();
  const counts = { events: 9, bytes: 1, duplicates: 0, frames: 1, frames_loaded: 1, accepted: 9, rejected: 0 };
  await db
    .insertInto('import_days')
    .values({ ...owned, day: '2026-01-01', ...counts, verified: 1, expected: '{"seen":{"count":9,"checksum":"a"}}' })
    .execute();
  await enterStage(db, claim, 'load');
  await db
    .updateTable('import_runs')
    .set({ totals: JSON.stringify(totals) })
    .where('id', '=', id)
    .execute();
  await enterStage(db, claim, 'report');
  for (const key of [stagingKeys.segment(id, 1, 0), stagingKeys.report(id, 'json')])
    await staging.write(key, [Buffer.from('x')]);
  const verdict = id === 'different' ? 'different' : 'exact';
  await staging.write(stagingKeys.verify(id), [Buffer.from(JSON.stringify({ verdict }))]);
  await completeRun(db, claim, start);
}

const days = { keepDays: 7, runDays: 90 };

describe('scheduled runs that ended', () => {
  it('are removed after their days, sooner if they found nothing new; those that users started and the newest stay', () =>
    withStaging(async (kept) => {
      const { db, staging, project } = kept;
      await end(kept, 'a-loaded', loadedAll);
      await end(kept, 'b-nothing', nothing);
      await end(kept, 'c-empty', { ...loadedAll, loaded: 0, events: 0, verified: 0 });
      await end(kept, 'd-rejected', { ...nothing, rejected: 1 });
      await end(kept, 'different', nothing);
      await end(kept, 'e-user', nothing, runOptions);
      await end(kept, 'f-newest', nothing);
      const deps = { db, staging, ...days };
      expect(await removeOldRuns(deps, start + 6 * dayMs)).toEqual([]);
      expect(await removeOldRuns({ ...deps, runsPerPage: 1 }, start + 8 * dayMs)).toEqual(['b-nothing', 'c-empty']);
      expect(await removeOldRuns(deps, start + 8 * dayMs)).toEqual([]);
      expect(await removeOldRuns(deps, start + 91 * dayMs)).toEqual(['a-loaded', 'd-rejected']);
      const left = await db.selectFrom('import_runs').select('id').orderBy('id').execute();
      expect(left.map(({ id }) => id)).toEqual(['different', 'e-user', 'f-newest']);
      for (const table of ['import_parts', 'import_days'] as const)
        expect(await db.selectFrom(table).select('run_id').execute()).toHaveLength(3);

      await removeOfDeletedProjects({ db, staging }, undefined, start + 91 * dayMs + 2 * hourMs);
      expect(await staging.list('a-loaded/')).toEqual([]);
      expect(await staging.list('e-user/')).toHaveLength(3);
      expect(await db.selectFrom('import_leftovers').selectAll().execute()).toEqual([]);
      // A run that never stored anything leaves nothing at all.
      expect(await findRemovedRun(db, 'c-empty', project)).toBeUndefined();
      expect(await findRemovedRun(db, 'a-loaded', project)).toMatchObject({ configId: project.configId });
    }));

  it('are still recognised by what they loaded, and refused with the reason where they would be needed', () =>
    withStaging(async (kept) => {
      const { db, staging, project } = kept;
      await end(kept, 'a-loaded', loadedAll);
      await end(kept, 'b-newest', nothing);
      await removeOldRuns({ db, staging, ...days }, start + 91 * dayMs);
      const part = { seq: 1, key: 'a', stable: true, identity: undefined, checksum: undefined, segments: [segment] };
      const parts = [{ ...part, complete: true, faults: 0, checked: 1, checkState: '', error: '' }];
      const expected = '{"seen":{"count":5,"checksum":"b"}}';
      const state = { events: 5, bytes: 1, duplicates: 0, frames: 1, framesLoaded: 0, accepted: 0, rejected: 0 };
      const run = {
        id: 'other',
        projectId: project.projectId,
        options: { ...runOptions, names: { events: { a: 'b' } } },
      };
      const checked = { run, parts, days: [{ day: '2026-01-01', ...state, verified: false, expected }] };
      expect(await findSameRecords(db, checked)).toMatchObject([
        { run: 'b-newest', again: 5 },
        { run: 'a-loaded', records: 9, loaded: 9, again: 5, removed: true },
      ]);
      await expect(refuseReplace(db, project, ['a-loaded'])).rejects.toThrow(/removed on 2027-\d\d-\d\d/);
      await expect(refuseReplace(db, project, ['nowhere'])).rejects.toThrow('Expected another run');
    }));

  it('stay if they are resumed at that moment, or if their schedule has not settled them', () =>
    withStaging(async (kept) => {
      const { db, staging, project } = kept;
      await end(kept, 'a-verified', loadedAll);
      await end(kept, 'b-unsettled', loadedAll);
      await end(kept, 'c-newest', loadedAll);
      const time = isoMicros(start);
      const times = { begins_at: time, covered_to: time, due_at: time, created_at: time, updated_at: time };
      const schedule = { timing: '{"everyMinutes":5}', overlap_minutes: 0, paused: 0, error: '', ...times } as const;
      const owner = { config_id: project.configId, project_id: project.projectId };
      await db
        .insertInto('import_schedules')
        .values({ ...owner, ...schedule, run_id: 'b-unsettled', run_to: time })
        .execute();
      const late: typeof staging = {
        ...staging,
        async *read(key, range) {
          if (key === stagingKeys.verify('a-verified')) await verifyAgain(db, 'a-verified');
          yield* staging.read(key, range);
        },
      };
      expect(await removeOldRuns({ db, staging: late, ...days }, start + 91 * dayMs)).toEqual([]);
      expect(await getRun(db, 'a-verified')).toMatchObject({ state: 'queued', stage: 'verify' });
      expect(await db.selectFrom('import_parts').select('run_id').execute()).toHaveLength(3);
    }));
});
