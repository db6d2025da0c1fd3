import { beforeEach, expect, it } from 'vitest';
import { describeOnPostgres, emptied } from '../../../test/support/postgres-database.ts';
import type { Metadata } from './database.ts';
import { migrate } from './migrate.ts';
import { claimSlots, createSlots } from './slot-leases.ts';

const slots = 4;
const leaseMs = 300;

describeOnPostgres('leases of slots on PostgreSQL', (database) => {
  const { db, other } = database;
  beforeEach(async () => {
    await emptied(database);
    await migrate(db, 'postgres');
    await createSlots(db, slots);
  });

  it('a worker that hangs while it claims slots blocks the others for about a lease', async () => {
    const wake = Promise.withResolvers<void>();
    const asleep = Promise.withResolvers<void>();
    const claiming = claimSlots(
      hanging(db, wake.promise, () => asleep.resolve()),
      { owner: 'still', leaseMs },
      slots,
    );
    await asleep.promise;
    const claim = async (): Promise<number> =>
      (await claimSlots(other, { owner: 'other', leaseMs: 60_000 }, slots)).length;
    expect(await claim()).toBe(0);
    await expect.poll(claim, { interval: 50 }).toBe(slots);
    wake.resolve();
    await expect(claiming).rejects.toThrow('not queryable');
  });
});

/** Wraps a store so that answers arrive only once `awake` resolves. */
function hanging(db: Metadata, awake: Promise<void>, onHang: () => void): Metadata {
  return db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      onHang();
      await awake;
      return result;
    },
  });
}
