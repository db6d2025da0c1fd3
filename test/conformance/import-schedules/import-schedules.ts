import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { now as start, sampleConfig, samplePlugin } from '../../support/metadata-rows.ts';
import { addNoticeProject } from '../../support/notices.ts';
import { isoMicros } from '../../../src/base/clock.ts';
import { hourMs, minuteMs } from '../../../src/base/time.ts';
import type { Metadata } from '../../../src/stores/metadata/database.ts';
import { defineImportSource, wrongSetting } from '../../../src/plugins/plugin.ts';
import { createRegistry } from '../../../src/plugins/plugin-registry.ts';
import { claimRun, completeRun, failRun } from '../../../src/imports/run/claim-run.ts';
import { listRuns } from '../../../src/imports/run/run-store.ts';
import type { Run } from '../../../src/imports/run/run.ts';
import { advanceSchedule } from '../../../src/imports/schedules/advance.ts';
import {
  findSchedule,
  saveSchedule,
  schedulesToCheck,
  type Schedule,
} from '../../../src/imports/schedules/schedule.ts';

export interface ScheduleStore extends AsyncDisposable {
  /** Migrated; without projects. */
  readonly db: Metadata;
  /** Another handle on the same store, as another process has. May be the same one if only one is possible. */
  readonly other: Metadata;
}

const source = defineImportSource({
  slug: 'sample',
  name: 'Sample',
  description: 'An empty source.',
  fields: [{ key: 'place', name: 'Place', type: 'string' }],
  formats: ['mixpanel'],
  range: 'The time of the event.',
  example: {},
  createSource: ({ place }) => {
    if (place === 'nowhere') throw wrongSetting('place', 'expected a place, got: nowhere');
    return {
      concurrency: 1,
      listParts: async () => [],
      open: () => Promise.reject(new Error('not expected')) as never,
    };
  },
});
const registry = createRegistry([source]);

/** The promises of import schedules on every metadata store. Real stores only. */
export function testSchedules(open: () => Promise<ScheduleStore>): void {
  let store: ScheduleStore;
  let projectId: number;
  let configId: number;
  beforeEach(async () => {
    store = await open();
    const { db } = store;
    ({ projectId } = await addNoticeProject(db));
    const capabilities = JSON.stringify({ methods: [], scheduled_tasks: [], jobs: [] });
    const { id: plugin } = await db
      .insertInto('plugins')
      .values({ ...samplePlugin, kind: 'import-app', capabilities })
      .returning('id')
      .executeTakeFirstOrThrow();
    const row = { ...sampleConfig(projectId, plugin), family: 'import-app' as const };
    ({ id: configId } = await db.insertInto('plugin_configs').values(row).returning('id').executeTakeFirstOrThrow());
  });
  afterEach(() => store[Symbol.asyncDispose]());

  /** Schedules runs every hour from `start`, a full hour, with half an hour of overlap. */
  async function schedule(more: Partial<Schedule> = {}): Promise<void> {
    const time = isoMicros(start);
    const made = { timing: { everyMinutes: 60 }, overlapMinutes: 30, paused: false, beginsAt: start, run: null };
    const rest = { coveredTo: start, dueAt: start + hourMs, error: '', createdAt: time, updatedAt: time };
    await saveSchedule(store.db, { configId, projectId, ...made, ...rest, ...more });
  }
  /** Starts due runs, as a process does every few seconds. */
  async function startDue(now: number, db = store.db): Promise<void> {
    for (const found of await schedulesToCheck(db, now)) await advanceSchedule({ db, registry }, found.configId, now);
  }
  async function runs(): Promise<Run[]> {
    return (await listRuns(store.db, { projectId }, { limit: 100, offset: 0 })).runs.toReversed();
  }
  /** Returns the windows of all runs in minutes from the start. */
  async function windows(): Promise<(readonly [from: number, to: number])[]> {
    const minutes = (time = ''): number => (Date.parse(time) - start) / minuteMs;
    return (await runs()).map(({ options: { range } }) => [minutes(range.from), minutes(range.to)]);
  }
  async function end(how: 'complete' | 'fail', now: number): Promise<void> {
    const claim = await claimRun(store.db, now, 1000);
    if (claim === undefined) throw new Error('expected a run to be due');
    if (how === 'complete') await completeRun(store.db, claim, now);
    else await failRun(store.db, claim, 'no such table', now);
  }

  describe('a schedule', () => {
    it('creates a run for each due time, from the end of the last one minus the overlap', async () => {
      await schedule();
      await startDue(start + hourMs - 1);
      expect(await windows()).toEqual([]);
      await startDue(start + hourMs + 1000);
      await end('complete', start + hourMs + 2000);
      await startDue(start + hourMs + 3000);
      expect(await windows()).toEqual([[0, 60]]);
      await startDue(start + 2 * hourMs + 1000);
      expect(await windows()).toEqual([
        [0, 60],
        [30, 120],
      ]);
      expect((await runs()).map(({ options }) => options.scheduled)).toEqual([true, true]);
    });

    it('several processes create one run for a due time', async () => {
      await schedule();
      const { db, other } = store;
      await Promise.all([db, other, db, other, db].map((handle) => startDue(start + hourMs, handle)));
      expect(await windows()).toEqual([[0, 60]]);
    });

    it('has one run at a time; times due in the meantime become one run afterwards', async () => {
      await schedule();
      await startDue(start + hourMs);
      await startDue(start + 2 * hourMs);
      await startDue(start + 3 * hourMs);
      expect(await windows()).toHaveLength(1);
      await end('complete', start + 3 * hourMs + minuteMs);
      await startDue(start + 3 * hourMs + 2 * minuteMs);
      await startDue(start + 3 * hourMs + 3 * minuteMs);
      expect(await windows()).toEqual([
        [0, 60],
        [30, 180],
      ]);
    });

    it('covers missed times with one run, up to the last of them', async () => {
      await schedule();
      await startDue(start + 50 * hourMs + 59 * minuteMs);
      expect(await windows()).toEqual([[0, 50 * 60]]);
      expect((await findSchedule(store.db, configId))?.dueAt).toBe(start + 51 * hourMs);
    });

    it('covers the window of a failed run with the next due run', async () => {
      await schedule();
      await startDue(start + hourMs);
      await end('fail', start + hourMs + 1000);
      await startDue(start + hourMs + 2000);
      expect(await windows()).toHaveLength(1);
      expect(await findSchedule(store.db, configId)).toMatchObject({ run: null, coveredTo: start });
      await startDue(start + 2 * hourMs);
      expect(await windows()).toEqual([
        [0, 60],
        [0, 120],
      ]);
    });

    it('starts nothing while paused, and covers the missed times afterwards', async () => {
      await schedule({ paused: true });
      await startDue(start + 5 * hourMs);
      expect(await windows()).toEqual([]);
      await schedule();
      await startDue(start + 5 * hourMs);
      expect(await windows()).toEqual([[0, 300]]);
    });

    it('reports invalid settings of its config, starts no run, and retries at the next time', async () => {
      await schedule();
      const set = (place: string) =>
        store.db
          .updateTable('plugin_configs')
          .set({ settings: JSON.stringify({ place }) })
          .execute();
      await set('nowhere');
      await startDue(start + hourMs);
      expect(await windows()).toEqual([]);
      const failing = await findSchedule(store.db, configId);
      expect(failing).toMatchObject({ error: 'setting "place": expected a place, got: nowhere' });
      expect(failing?.dueAt).toBe(start + 2 * hourMs);
      await set('here');
      await startDue(start + 2 * hourMs);
      expect(await windows()).toEqual([[0, 120]]);
      expect((await findSchedule(store.db, configId))?.error).toBe('');
    });

    it('rests while its config is in the bin, and is deleted with it', async () => {
      await schedule();
      await store.db.updateTable('plugin_configs').set({ deleted: 1 }).execute();
      await startDue(start + 5 * hourMs);
      expect(await windows()).toEqual([]);
      await store.db.deleteFrom('plugin_configs').execute();
      expect(await findSchedule(store.db, configId)).toBeUndefined();
    });
  });
}
