/** What processes on one store exchange, the same on both dialects. `db` and `other` are the handles of two processes. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createAgreements } from '../../../src/wire/capture/agreements.ts';
import { liveStages } from '../../../src/wire/contract/live-events.ts';
import { createRateLimiter } from '../../../src/server/http/rate-limit.ts';
import { LiveHub } from '../../../src/pipeline/live/hub.ts';
import type { Watch } from '../../../src/pipeline/live/watch.ts';
import type { Metadata } from '../../../src/stores/metadata/database.ts';
import { pruneLive } from '../../../src/stores/metadata/live-watches.ts';
import { createLog } from '../../../src/server/telemetry/log.ts';
import { startLiveRelay } from '../../../src/server/service/live-relay.ts';
import { startProcessReports, type ProcessReport } from '../../../src/server/service/status.ts';
import { createSharedBudgets } from '../../../src/server/service/historical-limits.ts';
import { mergeCounts } from '../../../src/server/service/http.ts';

export interface TwoProcesses extends AsyncDisposable {
  readonly db: Metadata;
  readonly other: Metadata;
}

const log = createLog('silent');
const watch: Omit<Watch, 'id'> = {
  projectId: 7,
  stages: liveStages,
  event: undefined,
  distinctId: undefined,
  steps: false,
  perSecond: 100,
};
const patient = { timeout: 30_000 };

export function describeProcesses(open: () => Promise<TwoProcesses>): void {
  describe('the live stream between processes', () => {
    it('a reader in one process receives the events of another until it leaves; overflow is counted', async () => {
      await using stores = await open();
      await using parts = new AsyncDisposableStack();
      const [near, far] = [new LiveHub(), new LiveHub()];
      startLiveRelay({ db: stores.db, live: near, log, processId: 'near' }, parts);
      startLiveRelay({ db: stores.other, live: far, log, processId: 'far' }, parts);
      const { reader, close } = near.open({ ...watch, event: 'wanted' });
      await expect.poll(() => far.watches().length, patient).toBe(1);
      const [seen] = far.watches();
      expect(seen).toMatchObject({ projectId: 7, event: 'wanted', elsewhere: true });
      const watches = [seen?.id ?? 0];
      far.deliver({ seen: [{ stage: 'stored', watches, json: '"first"' }], skipped: [] });
      await expect.poll(() => reader.take(), patient).toEqual(['"first"']);
      const large = `"${'x'.repeat(100_000)}"`;
      const many = Array.from({ length: 10 }, () => ({ stage: 'stored', watches, json: large }) as const);
      far.deliver({ seen: many, skipped: [{ watch: watches[0] ?? 0, stage: 'dropped', count: 3 }] });
      let taken = 0;
      let skipped = { rate: {}, slow: {} };
      await expect
        .poll(() => {
          taken += reader.take().length;
          skipped = reader.takeSkipped() ?? skipped;
          return [taken, skipped];
        }, patient)
        .toEqual([2, { rate: { stored: 8, dropped: 3 }, slow: {} }]);
      // Readers of one process do not concern the others.
      expect(near.watches().filter(({ elsewhere }) => elsewhere === true)).toEqual([]);
      close();
      await expect.poll(() => far.watches(), patient).toEqual([]);
      expect(await stores.db.selectFrom('live_sightings').selectAll().execute()).toEqual([]);
    });

    it('readers of a dead process are removed when their lease ends, by the clock of the database', async () => {
      await using stores = await open();
      await using parts = new AsyncDisposableStack();
      const hub = new LiveHub();
      const row = { process_id: 'dead', watch_id: 1, watch: JSON.stringify({ id: 1, ...watch }) };
      const soon = Date.now() + 5000;
      await stores.db
        .insertInto('live_watches')
        .values({ ...row, lease_until: soon })
        .execute();
      startLiveRelay({ db: stores.other, live: hub, log, processId: 'alive' }, parts);
      await expect.poll(() => hub.watches().length, patient).toBe(1);
      await expect.poll(() => hub.watches().length, patient).toBe(0);
      const old = { process_id: 'dead', sightings: '{}', seen_at: Date.now() - 120_000 };
      await stores.db.insertInto('live_sightings').values(old).execute();
      await pruneLive(stores.other, 60_000);
      expect(await stores.db.selectFrom('live_sightings').select('id').execute()).toEqual([]);
    });
  });

  describe('rate limits', () => {
    it('hold for all processes together once they have merged their counts', async () => {
      await using stores = await open();
      const clock = { now: () => Date.now() };
      const limiter = () =>
        createRateLimiter(
          [
            { limit: 5, ms: 60_000 },
            { limit: 100, ms: 3_600_000 },
          ],
          clock,
        );
      const [one, two] = [limiter(), limiter()];
      const together = async () => {
        await mergeCounts(stores.db, { requests: one });
        await mergeCounts(stores.other, { requests: two });
        two.peek('a');
        one.peek('a');
        await mergeCounts(stores.db, { requests: one });
        await mergeCounts(stores.other, { requests: two });
      };
      for (let time = 0; time < 3; time += 1) expect(one.take('a').allowed).toBe(true);
      expect(two.take('a').remaining).toBe(4);
      expect(two.take('b').remaining).toBe(4);
      await together();
      expect([one.peek('a').remaining, two.peek('a').remaining, two.peek('b').remaining]).toEqual([1, 1, 4]);
      expect(two.take('a').allowed).toBe(true);
      await together();
      expect([one.take('a').allowed, two.take('a').allowed]).toEqual([false, false]);
      await sql`update rate_counts set started_at = started_at - 60000`.execute(stores.db);
      one.peek('a');
      await mergeCounts(stores.db, { requests: one });
      expect(one.peek('a')).toMatchObject({ allowed: true, remaining: 5 });
    });
  });

  describe('agreements', () => {
    it('processes draw on one budget: together they get exactly the agreed amount', async () => {
      await using stores = await open();
      const clock = { now: () => Date.now() };
      const total = async (): Promise<number> => 0;
      const agreements = (db: Metadata) =>
        createAgreements({
          mode: 'required',
          clock,
          findApproved: async () => ({ eventsPerSecond: 10 }),
          budgets: createSharedBudgets({ db, log, total }),
        });
      const both = [agreements(stores.db), agreements(stores.other)];
      const tries = Array.from({ length: 30 }, (_, index) => both[index % 2]?.admit(7, 10));
      const answers = await Promise.allSettled(tries);
      const admitted = answers.filter(({ status }) => status === 'fulfilled').length;
      // Ten seconds worth immediately, and the refill during the requests.
      expect(admitted).toBeGreaterThanOrEqual(10);
      expect(admitted).toBeLessThan(20);
      const refused = answers.find((answer) => answer.status === 'rejected');
      expect(refused?.reason).toMatchObject({ status: 429, detail: expect.stringContaining('agreed 10') as unknown });
    });

    it('the total without an agreement counts all processes, and returns unused amounts', async () => {
      await using stores = await open();
      const agreements = (db: Metadata) =>
        createAgreements({
          mode: 'required',
          clock: { now: () => Date.now() },
          findApproved: async () => undefined,
          budgets: createSharedBudgets({ db, log, total: async () => 20_000_000 - 15 }),
        });
      const [one, two] = [agreements(stores.db), agreements(stores.other)];
      const giveBack = await one.admit(7, 10);
      await expect(two.admit(7, 10)).rejects.toMatchObject({ status: 429 });
      giveBack();
      await expect
        .poll(
          () =>
            two.admit(7, 10).then(
              () => 'in',
              () => 'out',
            ),
          patient,
        )
        .toBe('in');
    });
  });

  describe('process heartbeats', () => {
    it('reach the others until a process stops; a silent one is recognised by the age of its last heartbeat', async () => {
      await using stores = await open();
      const report: ProcessReport = {
        name: 'host:1',
        roles: ['pipeline'],
        version: '1',
        schema: 23,
        startedAt: '2026-01-01T00:00:00.000Z',
        lanes: { live: lane, historical: lane },
        received: { 7: { live: 2.5, historical: 0 } },
        parts: { metadata: { ok: true } },
      };
      const one = new AsyncDisposableStack();
      await using two = new AsyncDisposableStack();
      startProcessReports({ db: stores.db, log, processId: 'one', own: async () => report }, one);
      const others = startProcessReports({ db: stores.other, log, processId: 'two', own: async () => report }, two);
      await expect.poll(async () => (await others()).map(({ id }) => id), patient).toEqual(['one']);
      const dead = { id: 'dead', seen_at: Date.now() - 30_000, report: JSON.stringify({ form: 1, report }) };
      const foreign = { ...dead, id: 'of another version', report: '{"form":2}' };
      await stores.db.insertInto('service_processes').values([dead, foreign]).execute();
      const received = await others();
      expect(received.map(({ id }) => id)).toEqual(['dead', 'one']);
      expect(received[0]?.silentMs).toBeGreaterThan(20_000);
      expect(received[1]).toMatchObject({ report });
      await one.disposeAsync();
      expect((await others()).map(({ id }) => id)).toEqual(['dead']);
    });
  });
}

const lane = { oldest_seconds: 1, lag_seconds: 2, received_per_second: 3, stored_per_second: 4 };
