import { describe, expect, it } from 'vitest';
import { isoMicros } from '../../../src/base/clock.ts';
import {
  addDeliveries,
  backlogMax,
  charsPerJobMax,
  eventsPerJobMax,
  type Delivery,
} from '../../../src/queue/jobs/deliveries.ts';
import { enqueuePluginJob, pluginJobsMax } from '../../../src/queue/jobs/enqueue-plugin-job.ts';
import { claim, enqueue, findJob, listJobs, succeed, type Job } from '../../../src/queue/jobs/queue.ts';
import { createSchedule } from '../../../src/queue/jobs/runner.ts';
import { addApp, changeApp, deliveryEvent, sharedClock, start, testClock } from '../../support/jobs.ts';
import { leaseMs, useStore, type JobsFixture, type OpenStore, type TestClock } from '../../support/jobs.ts';
import { dayMs, hourMs, minuteMs } from '../../../src/base/time.ts';

/** How jobs are created. */
export function testFlows(open: OpenStore): void {
  describe('jobs', () => {
    const fixture = useStore(open);
    testSchedules(fixture);
    testDeliveries(fixture);
    testPluginJobs(fixture);
  });
}

function testSchedules(fixture: JobsFixture): void {
  describe('schedules', () => {
    const setUp = (clock: TestClock, db = fixture.db) => createSchedule({ db, clock: sharedClock(clock) });
    const tasks = ['runEveryMinute', 'runEveryHour', 'runEveryDay', 'runEveryBlueMoon'];
    const appOf = (configId: number, updatedAt = start, names = tasks) => [
      { configId, projectId: fixture.projectId, updatedAt: isoMicros(updatedAt), tasks: names },
    ];
    const finishAll = async (now: number): Promise<string[]> => {
      const done: string[] = [];
      for (let job = await claim(fixture.db, now, leaseMs); job; job = await claim(fixture.db, now, leaseMs)) {
        await succeed(fixture.db, job, now);
        done.push(`${job.type} ${String(job.payload['tick'])}`);
      }
      return done;
    };

    it('a task runs at full minutes, full hours and midnight UTC, and not before its first tick', async () => {
      const configId = await addApp(fixture.db, fixture.projectId, { now: start + 1 });
      const clock = testClock();
      clock.advance(1);
      const schedule = setUp(clock);
      const ran: string[] = [];
      for (let at = 1; at < 15 * hourMs; at += hourMs / 2) {
        await schedule.plan(appOf(configId, start + 1, ['runEveryHour', 'runEveryDay']));
        ran.push(...(await finishAll(clock.now())));
        clock.advance(hourMs / 2);
      }
      const hours = [11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23].map(
        (hour) => `runEveryHour 2026-11-20T${hour}:00:00.000000Z`,
      );
      const midnight = '2026-11-21T00:00:00.000000Z';
      expect(ran.toSorted()).toEqual([`runEveryDay ${midnight}`, ...hours, `runEveryHour ${midnight}`].toSorted());
    });

    it('a tick becomes one job, however many processes plan it and however often', async () => {
      const configId = await addApp(fixture.db, fixture.projectId);
      const clock = testClock();
      const plans = [fixture.db, fixture.other, fixture.db].map((db) => setUp(clock, db));
      await Promise.all(plans.map((schedule) => schedule.plan(appOf(configId, start, ['runEveryMinute']))));
      expect(await fixture.allJobs()).toMatchObject([{ kind: 'scheduled', type: 'runEveryMinute', configId }]);
      expect(await finishAll(clock.now())).toHaveLength(1);
      await Promise.all(plans.map((schedule) => schedule.plan(appOf(configId, start, ['runEveryMinute']))));
      await setUp(clock).plan(appOf(configId, start, ['runEveryMinute']));
      expect(await fixture.allJobs()).toHaveLength(1);
    });

    it('a tick is skipped while the previous run of that task waits or runs, and is not made up for', async () => {
      const configId = await addApp(fixture.db, fixture.projectId);
      const clock = testClock();
      const schedule = setUp(clock);
      const app = appOf(configId, start, ['runEveryMinute']);
      await schedule.plan(app);
      clock.advance(minuteMs);
      await schedule.plan(app);
      const job = await fixture.take(clock.now());
      clock.advance(minuteMs);
      await schedule.plan(app);
      expect(await fixture.allJobs()).toHaveLength(1);
      await succeed(fixture.db, job, clock.now());
      await schedule.plan(app);
      expect(await fixture.allJobs()).toHaveLength(1);
      clock.advance(minuteMs);
      await schedule.plan(app);
      expect(await fixture.allJobs()).toHaveLength(2);
    });

    it('after an outage the latest tick runs, those before it do not', async () => {
      const configId = await addApp(fixture.db, fixture.projectId);
      const clock = testClock();
      await setUp(clock).plan(appOf(configId, start, ['runEveryMinute']));
      await finishAll(clock.now());
      clock.advance(10 * minuteMs + 30_000);
      const afterwards = setUp(clock);
      await afterwards.plan(appOf(configId, start, ['runEveryMinute']));
      await afterwards.plan(appOf(configId, start, ['runEveryMinute']));
      expect(await finishAll(clock.now())).toEqual(['runEveryMinute 2026-11-20T10:10:00.000000Z']);
    });

    it('a config that was just disabled, binned or deleted gets no ticks', async () => {
      const disabled = await addApp(fixture.db, fixture.projectId, { enabled: false });
      const binned = await addApp(fixture.db, fixture.projectId);
      await changeApp(fixture.db, binned, { deleted: 1 }, start);
      const schedule = setUp(testClock());
      await schedule.plan([...appOf(disabled), ...appOf(binned), ...appOf(4711)]);
      expect(await fixture.allJobs()).toEqual([]);
    });
  });
}

function testDeliveries(fixture: JobsFixture): void {
  describe('deliveries', () => {
    const deliver = (deliveries: readonly Delivery[], now = start) =>
      fixture.db.transaction().execute((tx) => addDeliveries(tx, deliveries, now));
    const eventsOf = (job: Job): { event: string }[] => job.payload['events'] as unknown as { event: string }[];

    it('events keep their order across jobs of bounded length and size', async () => {
      const configId = await addApp(fixture.db, fixture.projectId);
      const names = Array.from({ length: eventsPerJobMax + 3 }, (_, n) => `e${n}`);
      const large = { propertiesText: JSON.stringify({ x: 'x'.repeat(charsPerJobMax * 0.6) }) };
      const events = [
        ...names.map((name) => deliveryEvent(name)),
        deliveryEvent('l1', large),
        deliveryEvent('l2', large),
      ];
      expect(await deliver([{ configId, projectId: fixture.projectId, method: 'onEvent', events }])).toEqual(new Map());
      const jobs = await fixture.allJobs();
      expect(jobs.map((job) => eventsOf(job).length)).toEqual([eventsPerJobMax, 4, 1]);
      expect(jobs.flatMap((job) => eventsOf(job).map(({ event }) => event))).toEqual([...names, 'l1', 'l2']);
      expect(jobs[0]).toMatchObject({ kind: 'delivery', type: 'onEvent', attemptsMax: 6 });
      expect(eventsOf(jobs[0] as Job)[0]).toEqual(deliveryEvent('e0'));
    });

    it('deliveries exist if and only if the events do: one transaction', async () => {
      const configId = await addApp(fixture.db, fixture.projectId);
      const doomed = fixture.db.transaction().execute(async (tx) => {
        await addDeliveries(
          tx,
          [{ configId, projectId: fixture.projectId, method: 'exportEvents', events: [deliveryEvent('e')] }],
          start,
        );
        throw new Error('the window failed');
      });
      await expect(doomed).rejects.toThrow('the window failed');
      expect(await fixture.allJobs()).toEqual([]);
    });

    it('a disabled, binned or deleted config gets none and does not affect others', async () => {
      const disabled = await addApp(fixture.db, fixture.projectId, { enabled: false });
      const binned = await addApp(fixture.db, fixture.projectId);
      await changeApp(fixture.db, binned, { deleted: 1 }, start);
      const fine = await addApp(fixture.db, fixture.projectId);
      const all = [disabled, binned, 4711, fine].map((configId): Delivery => {
        return { configId, projectId: fixture.projectId, method: 'onEvent', events: [deliveryEvent('e')] };
      });
      expect(await deliver(all)).toEqual(new Map());
      expect((await fixture.allJobs()).map(({ configId }) => configId)).toEqual([fine]);
      expect(await deliver([])).toEqual(new Map());
    });

    it('beyond the backlog of a config its events are skipped and counted, those of others are not', async () => {
      const full = await addApp(fixture.db, fixture.projectId);
      const free = await addApp(fixture.db, fixture.projectId);
      await fixture.db.transaction().execute(async (tx) => {
        for (let n = 0; n < backlogMax - 1; n += 1) {
          const job = {
            projectId: fixture.projectId,
            configId: full,
            type: 'onEvent',
            operation: 'deliver',
            payload: {},
            now: start,
          };
          await enqueue(tx, { ...job, kind: 'delivery' });
        }
      });
      const events = Array.from({ length: 2 * eventsPerJobMax + 7 }, () => deliveryEvent('e'));
      const both = [full, free].map((configId): Delivery => ({
        configId,
        projectId: fixture.projectId,
        method: 'exportEvents',
        events,
      }));
      expect(await deliver(both)).toEqual(new Map([[full, eventsPerJobMax + 7]]));
      expect(await deliver(both)).toEqual(new Map([[full, events.length]]));
      const { count } = await listJobs(
        fixture.db,
        { projectId: fixture.projectId, configId: free },
        { limit: 1, offset: 0 },
      );
      expect(count).toBe(6);
    });
  });
}

function testPluginJobs(fixture: JobsFixture): void {
  describe('jobs scheduled by a plugin', () => {
    const runAt = start + 3 * dayMs;

    it('a plugin schedules a job days ahead', async () => {
      const configId = await addApp(fixture.db, fixture.projectId);
      const id = await enqueuePluginJob(
        fixture.db,
        { configId, projectId: fixture.projectId },
        { name: 'sync', payload: { page: 2 }, runAt },
        start,
      );
      const expected = {
        kind: 'enqueued',
        type: 'sync',
        payload: { page: 2 },
        runAt: isoMicros(runAt),
        state: 'queued',
      };
      expect(await findJob(fixture.db, fixture.projectId, id)).toMatchObject(expected);
    });

    it('a time in the past means now', async () => {
      const configId = await addApp(fixture.db, fixture.projectId);
      await enqueuePluginJob(
        fixture.db,
        { configId, projectId: fixture.projectId },
        { name: 'x', payload: {}, runAt: -5 },
        start,
      );
      expect((await fixture.take(start)).runAt).toBe(isoMicros(start));
    });

    it.each([
      ['no name', { name: '', payload: {}, runAt }, 'expected a job name'],
      ['a time after the year 9999', { name: 'x', payload: {}, runAt: 1e18 }, 'before the year 9999'],
      ['an invalid time', { name: 'x', payload: {}, runAt: Number.NaN }, 'before the year 9999'],
      ['a payload too large', { name: 'x', payload: { x: 'x'.repeat(1_000_001) }, runAt }, 'characters of JSON'],
    ])('%s is refused with a message', async (_name, job, sentence) => {
      const configId = await addApp(fixture.db, fixture.projectId);
      const refused = enqueuePluginJob(fixture.db, { configId, projectId: fixture.projectId }, job, start);
      await expect(refused).rejects.toThrow(sentence);
      expect(await fixture.allJobs()).toEqual([]);
    });

    it('a config that is deleted or has too many queued jobs is refused', async () => {
      const job = { name: 'x', payload: {}, runAt };
      await expect(
        enqueuePluginJob(fixture.db, { configId: 4711, projectId: fixture.projectId }, job, start),
      ).rejects.toThrow('was deleted');
      const configId = await addApp(fixture.db, fixture.projectId);
      const row = {
        project_id: fixture.projectId,
        config_id: configId,
        kind: 'enqueued',
        type: 'x',
        operation: 'x',
      } as const;
      const rest = { payload: '{}', state: 'queued', attempts: 0, run_at: isoMicros(runAt), error: '' } as const;
      await fixture.db.transaction().execute(async (tx) => {
        for (let from = 0; from < pluginJobsMax; from += 500) {
          const rows = Array.from({ length: 500 }, (_, n) => ({
            ...row,
            ...rest,
            id: `job-${from + n}`,
            created_at: isoMicros(start),
          }));
          await tx.insertInto('jobs').values(rows).execute();
        }
      });
      const refused = enqueuePluginJob(fixture.db, { configId, projectId: fixture.projectId }, job, start);
      await expect(refused).rejects.toThrow(`at most ${pluginJobsMax} queued jobs`);
    });
  });
}
