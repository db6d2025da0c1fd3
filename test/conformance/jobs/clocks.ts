import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hourMs } from '../../../src/base/time.ts';
import { createRegistry } from '../../../src/plugins/plugin-registry.ts';
import { createLog } from '../../../src/server/telemetry/log.ts';
import { enqueue, findJob } from '../../../src/queue/jobs/queue.ts';
import { startJobRunner } from '../../../src/queue/jobs/runner.ts';
import { addApp, fakeSandbox, useStore, type OpenStore } from '../../support/jobs.ts';

/** Leases, due times and scheduled times use the clock of the store, regardless of the clocks of processes. */
export function testRunnersClocks(open: OpenStore): void {
  describe('processes whose clocks are an hour apart', () => {
    const fixture = useStore(open);
    const ran: string[] = [];
    const stop = { now: new AbortController() };
    beforeEach(() => {
      ran.length = 0;
      stop.now = new AbortController();
    });
    afterEach(() => stop.now.abort());

    function startRunners(takesMs: number) {
      return [-hourMs, hourMs].map((ahead, index) => {
        const { sandbox, services, loadProgram } = fakeSandbox({
          jobs: ['sync'],
          async call(target) {
            ran.push(target.kind === 'job' ? `job ${String(target.payload?.['n'])}` : target.kind);
            await wait(takesMs);
          },
        });
        return startJobRunner({
          db: index === 0 ? fixture.db : fixture.other,
          clock: { now: () => Date.now() + ahead },
          registry: createRegistry([]),
          accept: async () => undefined,
          log: createLog('silent'),
          signal: stop.now.signal,
          installed: { sandbox, services, loadProgram },
          pollMs: 10,
          leaseMs: 2000,
        });
      });
    }

    it('run each job once, even when it takes longer than its lease', async () => {
      const capabilities = { jobs: ['sync'] };
      const configs = await Promise.all([1, 2].map(() => addApp(fixture.db, fixture.projectId, { capabilities })));
      const job = { projectId: fixture.projectId, type: 'sync', operation: 'start', now: Date.now() };
      const ids: string[] = [];
      for (const [n, configId] of [...configs, ...configs].entries()) {
        ids.push(await enqueue(fixture.db, { ...job, configId, payload: { n } }));
      }
      const runners = startRunners(2600);
      const stateOf = async (id: string) => (await findJob(fixture.db, fixture.projectId, id))?.state;
      for (const id of ids) await expect.poll(() => stateOf(id)).toBe('succeeded');
      stop.now.abort();
      await Promise.all(runners.map(({ done }) => done));
      expect(ran.toSorted()).toEqual(['job 0', 'job 1', 'job 2', 'job 3']);
    });

    it('create one job for a due tick, and none for later ticks', async () => {
      const hour = Math.floor(Date.now() / hourMs) * hourMs;
      const capabilities = { scheduled_tasks: ['runEveryHour'] };
      await addApp(fixture.db, fixture.projectId, { capabilities, now: hour });
      const runners = startRunners(0);
      await expect.poll(() => ran).toEqual(['scheduled']);
      await wait(200);
      stop.now.abort();
      await Promise.all(runners.map(({ done }) => done));
      expect(ran).toEqual(['scheduled']);
      const ticks = (await fixture.allJobs()).map(({ payload }) => Date.parse(String(payload['tick'])));
      expect(ticks).toEqual([hour]);
    });
  });
}
