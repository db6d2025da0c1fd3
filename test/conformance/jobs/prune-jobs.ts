import { describe, expect, it } from 'vitest';
import { isoMicros } from '../../../src/base/clock.ts';
import { findAnyConfig } from '../../../src/plugins/configs/stored-config.ts';
import { cancelJob, retryJob } from '../../../src/queue/jobs/change-job.ts';
import {
  failedDeliveriesMax,
  keptMs,
  keptPerConfigMax,
  pruneJobs,
  redate,
} from '../../../src/queue/jobs/prune-jobs.ts';
import { claim, enqueue, fail, findJob, moveJobs, succeed, type Job } from '../../../src/queue/jobs/queue.ts';
import { countRun, reportFailure, reportSuccess } from '../../../src/queue/jobs/report.ts';
import { createSchedule } from '../../../src/queue/jobs/runner.ts';
import { addApp, errorOf, sharedClock, start, testClock } from '../../support/jobs.ts';
import { leaseMs, useStore, type JobsFixture, type OpenStore } from '../../support/jobs.ts';
import { dayMs, hourMs, minuteMs } from '../../../src/base/time.ts';

/** What happens to jobs apart from running. */
export function testPruneJobs(open: OpenStore): void {
  describe('jobs', () => {
    const fixture = useStore(open);
    testClockSetBack(fixture);
    testPruning(fixture);
    testChanges(fixture);
    testReports(fixture);
  });
}

/** Inserts many rows, oldest first. */
async function addFinished(
  fixture: JobsFixture,
  configId: number,
  count: number,
  kind: Job['kind'],
  state: 'succeeded' | 'failed',
): Promise<void> {
  await fixture.db.transaction().execute(async (tx) => {
    for (let n = 0; n < count; n += 1) {
      await enqueue(tx, {
        projectId: fixture.projectId,
        configId,
        type: 'x',
        operation: 'x',
        payload: {},
        now: start + n,
        kind,
      });
    }
    const finished = { finished_at: isoMicros(start + count) };
    await moveJobs(tx, 'claim', {}).where('config_id', '=', configId).where('kind', '=', kind).execute();
    await moveJobs(tx, state === 'failed' ? 'fail' : 'succeed', finished)
      .where('config_id', '=', configId)
      .where('kind', '=', kind)
      .execute();
  });
}

function testClockSetBack(fixture: JobsFixture): void {
  describe('the clock was set back', () => {
    const before = start + 30 * dayMs;

    it('a waiting job keeps its own delay, counted from now', async () => {
      const soon = await fixture.add({ configId: 1, now: before });
      const later = await fixture.add({ configId: 2, now: before, runAt: before + 2 * dayMs });
      await redate(fixture.db, start, leaseMs);
      expect((await fixture.take(start)).id).toBe(soon);
      expect(await claim(fixture.db, start + 2 * dayMs - 1, leaseMs)).toMatchObject({ id: soon });
      expect((await fixture.take(start + 2 * dayMs)).id).toBe(later);
    });

    it('a retry that was postponed before the clock was set back runs after its own delay', async () => {
      const id = await fixture.add({ configId: 1, now: start });
      await fail(fixture.db, await fixture.take(before), { error: 'no', now: before, delayMs: 5000, final: false });
      await redate(fixture.db, start, leaseMs);
      expect(await claim(fixture.db, start + 4999, leaseMs)).toBeUndefined();
      expect((await fixture.take(start + 5000)).id).toBe(id);
    });

    it('a job that is really due in days is unchanged', async () => {
      const id = await fixture.add({ configId: 1, runAt: before });
      await redate(fixture.db, start + dayMs, leaseMs);
      expect(await findJob(fixture.db, fixture.projectId, id)).toMatchObject({ runAt: isoMicros(before) });
    });

    it('a lease in the future ends when a fresh one would', async () => {
      const id = await fixture.add({ configId: 1, now: before });
      await fixture.take(before);
      await redate(fixture.db, start, leaseMs);
      expect(await claim(fixture.db, start + leaseMs, leaseMs)).toBeUndefined();
      expect(await fixture.take(start + leaseMs + 1)).toMatchObject({ id, attempts: 2 });
    });

    it('schedules continue', async () => {
      const configId = await addApp(fixture.db, fixture.projectId, { now: start - 1 });
      const clock = testClock();
      const app = [
        { configId, projectId: fixture.projectId, updatedAt: isoMicros(start - 1), tasks: ['runEveryMinute'] },
      ];
      clock.advance(5 * minuteMs);
      await createSchedule({ db: fixture.db, clock: sharedClock(clock) }).plan(app);
      await succeed(fixture.db, await fixture.take(clock.now()), clock.now());
      clock.advance(-hourMs);
      await redate(fixture.db, clock.now(), leaseMs);
      clock.advance(hourMs);
      await createSchedule({ db: fixture.db, clock: sharedClock(clock) }).plan(app);
      expect(await fixture.allJobs()).toHaveLength(2);
    });
  });
}

function testPruning(fixture: JobsFixture): void {
  describe('finished jobs', () => {
    it('are removed after seven days; queued and running ones stay', async () => {
      const done = await fixture.add({ configId: 1 });
      await succeed(fixture.db, await fixture.take(start), start + hourMs);
      const running = await fixture.add({ configId: 1 });
      await claim(fixture.db, start, keptMs * 2);
      const waiting = await fixture.add({ configId: 1 });
      await pruneJobs(fixture.db, start + keptMs + hourMs);
      expect((await fixture.allJobs()).map(({ id }) => id)).toEqual([done, running, waiting]);
      await pruneJobs(fixture.db, start + keptMs + hourMs + 1);
      expect((await fixture.allJobs()).map(({ id }) => id)).toEqual([running, waiting]);
    });

    it('of one config only the newest stay, and fewer failed deliveries', async () => {
      await addFinished(fixture, 1, keptPerConfigMax + 5, 'started', 'succeeded');
      await addFinished(fixture, 2, failedDeliveriesMax + 5, 'delivery', 'failed');
      await addFinished(fixture, 3, 10, 'started', 'failed');
      await pruneJobs(fixture.db, start + hourMs);
      const left = await fixture.allJobs();
      const ofConfig = (id: number): Job[] => left.filter(({ configId }) => configId === id);
      expect(ofConfig(1)).toHaveLength(keptPerConfigMax);
      expect(ofConfig(1)[0]?.createdAt).toBe(isoMicros(start + 5));
      expect(ofConfig(2)).toHaveLength(failedDeliveriesMax);
      expect(ofConfig(2)[0]?.createdAt).toBe(isoMicros(start + 5));
      expect(ofConfig(3)).toHaveLength(10);
    });

    it('all scheduled jobs of the last day stay, because without them a scheduled time would run twice', async () => {
      await addFinished(fixture, 1, keptPerConfigMax + 5, 'scheduled', 'succeeded');
      await pruneJobs(fixture.db, start + hourMs);
      expect(await fixture.allJobs()).toHaveLength(keptPerConfigMax + 5);
      await pruneJobs(fixture.db, start + 26 * hourMs);
      expect(await fixture.allJobs()).toHaveLength(keptPerConfigMax);
    });
  });
}

function testChanges(fixture: JobsFixture): void {
  describe('manual changes', () => {
    const actor = { organizationId: 'o', userId: null, keyId: 'k', requestId: 'r' };
    const order = (id: string) => ({ projectId: fixture.projectId, id, actor, now: start + 10 });

    it('a failed job is retried with all its attempts, recorded in the log of the config', async () => {
      const configId = await addApp(fixture.db, fixture.projectId);
      const id = await fixture.add({ configId, attemptsMax: 2 });
      await fail(fixture.db, await fixture.take(start), { error: 'no', now: start, delayMs: 0, final: true });
      expect(await fixture.db.transaction().execute((tx) => retryJob(tx, order(id)))).toMatchObject({
        kind: 'changed',
        job: { id, state: 'queued', attempts: 0, error: '', finishedAt: null, runAt: isoMicros(start + 10) },
      });
      expect(await fixture.take(start + 10)).toMatchObject({ id, attempts: 1, attemptsMax: 2 });
      const log = await fixture.db.selectFrom('activity_log').select(['activity', 'item_id', 'key_id']).execute();
      expect(log).toMatchObject([{ activity: 'job_retried', item_id: String(configId), key_id: 'k' }]);
    });

    it('a queued job is cancelled; jobs behind it run', async () => {
      const configId = await addApp(fixture.db, fixture.projectId);
      const id = await fixture.add({ configId, kind: 'delivery' });
      const next = await fixture.add({ configId, kind: 'delivery', now: start + 1 });
      await fail(fixture.db, await fixture.take(start), { error: 'no', now: start, delayMs: dayMs, final: false });
      await fixture.db.transaction().execute((tx) => cancelJob(tx, order(id)));
      expect(await findJob(fixture.db, fixture.projectId, id)).toMatchObject({
        state: 'failed',
        error: 'cancelled before it ran',
      });
      expect((await fixture.take(start + 10)).id).toBe(next);
    });

    it.each([
      ['a running job is neither cancelled', cancelJob, 'Only a queued job can be cancelled; this one is running.'],
      ['nor retried', retryJob, 'Only a failed job can be retried; this one is running.'],
    ])('%s', async (_name, act, sentence) => {
      const id = await fixture.add({ configId: await addApp(fixture.db, fixture.projectId) });
      await fixture.take(start);
      const done = await fixture.db.transaction().execute((tx) => act(tx, order(id)));
      expect(done).toEqual({ kind: 'refused', sentence });
      expect(await findJob(fixture.db, fixture.projectId, id)).toMatchObject({ state: 'running' });
    });

    it('a job of a deleted config is not retried, one of another project is unknown', async () => {
      const id = await fixture.add({ configId: 4711 });
      await fail(fixture.db, await fixture.take(start), { error: 'no', now: start, delayMs: 0, final: true });
      expect(await retryJob(fixture.db, order(id))).toMatchObject({ kind: 'refused' });
      expect(await retryJob(fixture.db, { ...order(id), projectId: fixture.projectId + 1 })).toEqual({
        kind: 'unknown',
      });
    });
  });
}

function testReports(fixture: JobsFixture): void {
  describe('the record of a config', () => {
    it('a failure stays until the same work succeeds; other errors stay', async () => {
      const configId = await addApp(fixture.db, fixture.projectId);
      const failing = { what: 'job "sync"', text: 'no route', now: start };
      await fixture.db.transaction().execute((tx) => reportFailure(tx, configId, failing));
      expect(await errorOf(fixture.db, configId)).toBe('job "sync" failed: no route');
      await fixture.db.transaction().execute((tx) => reportSuccess(tx, configId, 'runEveryMinute', start));
      expect(await errorOf(fixture.db, configId)).toBe('job "sync" failed: no route');
      await fixture.db.transaction().execute((tx) => reportSuccess(tx, configId, 'job "sync"', start));
      expect(await errorOf(fixture.db, configId)).toBe('');
    });

    it('the same failure with other numbers and ids is not logged again', async () => {
      const configId = await addApp(fixture.db, fixture.projectId);
      for (const id of ['0190a0b0-0000-7000-8000-000000000001', '0190a0b0-0000-7000-8000-0000000000ff']) {
        const failing = { what: 'onEvent', text: `status 50${id.length} for ${id}`, now: start };
        await fixture.db.transaction().execute((tx) => reportFailure(tx, configId, failing));
      }
      const { length } = await fixture.db.selectFrom('activity_log').select('id').execute();
      expect(length).toBe(1);
    });

    it('runs are counted by the hour', async () => {
      const config = await findAnyConfig(fixture.db, await addApp(fixture.db, fixture.projectId), start);
      if (config === undefined) throw new Error('expected the config to be there');
      await countRun(fixture.db, config, { succeeded: 3, failed: 0, ms: 1.5 }, start);
      await countRun(fixture.db, config, { succeeded: 0, failed: 2, ms: 1 }, start + hourMs - 1);
      await countRun(fixture.db, config, { succeeded: 1, failed: 0, ms: 0 }, start + hourMs);
      const rows = await fixture.db.selectFrom('plugin_metrics').selectAll().orderBy('hour').execute();
      expect(rows.map((row) => [row.succeeded, row.failed, row.micros].map(Number))).toEqual([
        [3, 2, 2500],
        [1, 0, 0],
      ]);
    });
  });
}
