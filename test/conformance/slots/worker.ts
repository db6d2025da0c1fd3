import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { joinWorkers } from '../../../src/stores/metadata/slot-leases.ts';
import { createSlotWorld, whileThere, type SlotWorld } from '../../support/slot-world.ts';
import type { SlotWorker } from '../../../src/pipeline/slots/slot-worker.ts';
import type { OpenStore } from './storm.ts';

const leaseMs = 2000;
/** Time limits for a busy machine. */
const aboutALeaseMs = leaseMs * 1.5;

const shares = (...workers: SlotWorker[]): number[] => workers.map((worker) => worker.status().slots.length);

/** The promises of workers on every metadata store. */
export function testSlotWorkers(open: OpenStore): void {
  describe('workers that share slots', () => {
    let store: Awaited<ReturnType<OpenStore>>;
    let world: SlotWorld;
    beforeEach(async () => {
      store = await open();
      world = await createSlotWorld({ db: store.db, slots: 8 });
    });
    afterEach(async () => {
      await world[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    });

    it('a single worker holds all slots, and a joining one gets its share within a lease', async () => {
      const first = world.start({ leaseMs });
      await expect.poll(() => shares(first), { interval: 10 }).toEqual([8]);
      const joinedAt = performance.now();
      const second = world.start({ leaseMs });
      await expect.poll(() => shares(first, second), { interval: 10 }).toEqual([4, 4]);
      expect(performance.now() - joinedAt).toBeLessThan(aboutALeaseMs);
      const third = world.start({ leaseMs });
      await expect.poll(() => shares(first, second, third), { interval: 10 }).toEqual([3, 3, 2]);
      const all = [first, second, third].flatMap((worker) => worker.status().slots);
      expect(all.toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    });

    it('a stopping worker releases its slots immediately', async () => {
      const first = world.start({ leaseMs });
      const second = world.start({ leaseMs });
      await expect.poll(() => shares(first, second), { interval: 10 }).toEqual([4, 4]);
      await world.stop(second);
      expect(await held()).toBe(4);
      await world.stop(first);
      expect(await held()).toBe(0);
      expect(await store.db.selectFrom('pipeline_workers').selectAll().execute()).toEqual([]);
    });

    it('the slots of a dead worker go to the others after its lease', async () => {
      let isGone = false;
      const gone = world.start({ leaseMs, leaseDb: whileThere(store.db, () => !isGone) });
      const left = world.start({ leaseMs });
      await expect.poll(() => shares(gone, left), { interval: 10 }).toEqual([4, 4]);
      isGone = true;
      const goneAt = performance.now();
      await expect.poll(() => shares(gone, left), { interval: 10 }).toEqual([0, 8]);
      expect(performance.now() - goneAt).toBeLessThan(aboutALeaseMs);
      expect(gone.status().failure).toBe('slots cannot be leased: the database is away');
    });

    it('slots that were released for a worker that died before it claimed them are claimed by the others', async () => {
      const left = world.start({ leaseMs });
      await expect.poll(() => shares(left), { interval: 10 }).toEqual([8]);
      const releasedForIt = async (): Promise<number> => {
        await joinWorkers(store.db, { owner: 'a worker that dies', leaseMs });
        return 8 - (await held());
      };
      await expect.poll(releasedForIt, { interval: 10 }).toBe(4);
      await expect.poll(() => shares(left), { interval: 10 }).toEqual([8]);
    });

    it('a worker that cannot renew stops before its leases end, even if it is the only one', async () => {
      let isAway = false;
      const worker = world.start({ leaseMs, leaseDb: whileThere(store.db, () => !isAway) });
      await expect.poll(() => shares(worker), { interval: 10 }).toEqual([8]);
      isAway = true;
      await expect.poll(() => shares(worker), { interval: 10, timeout: leaseMs }).toEqual([0]);
      isAway = false;
      await expect.poll(() => shares(worker), { interval: 10 }).toEqual([8]);
    });

    it('a worker whose work cannot start reports why, releases the slots and retries', async () => {
      await store.db.updateTable('slots').set({ log: 'another' }).execute();
      await store.db.updateTable('log_cursors').set({ seq: 1 }).execute();
      const worker = world.start({ leaseMs });
      await expect.poll(() => worker.status().failure, { interval: 10 }).toContain('the topics were recreated');
      await expect.poll(held, { interval: 10 }).toBe(0);
      await store.db.updateTable('log_cursors').set({ seq: 0 }).execute();
      await expect.poll(() => shares(worker), { interval: 10 }).toEqual([8]);
      await expect.poll(() => worker.status().failure, { interval: 10 }).toBe('');
    });

    async function held(): Promise<number> {
      const rows = await store.db.selectFrom('slots').select('owner').where('owner', 'is not', null).execute();
      return rows.length;
    }
  });
}
