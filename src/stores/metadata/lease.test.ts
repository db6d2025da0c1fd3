import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { keepLease, type KeepLeaseDeps } from './lease.ts';

/** Records what happens to a lease until it is lost or 200 ms have passed. */
async function kept(deps: Partial<KeepLeaseDeps>) {
  const seen: string[] = [];
  const { promise: lost, resolve } = Promise.withResolvers<void>();
  const release = keepLease({
    leaseMs: 30,
    renew: async () => true,
    onLost: () => {
      seen.push('lost');
      resolve();
    },
    onTrouble: () => seen.push('trouble'),
    ...deps,
  });
  await Promise.race([lost, setTimeout(200)]);
  await release();
  return seen;
}

it('a lease is renewed until it is released', async () => {
  let renewals = 0;
  expect(await kept({ renew: async () => (renewals += 1) > 0 })).toEqual([]);
  expect(renewals).toBeGreaterThan(3);
});

it('is lost when the store reports it, at a renewal or a check in between', async () => {
  expect(await kept({ renew: async () => false })).toEqual(['lost']);
  const check = { checkMs: 5, isHeld: async () => false };
  expect(await kept({ leaseMs: 60_000, check })).toEqual(['lost']);
});

it('is kept through failures of the store, unless it expires in the meantime', async () => {
  const renew = (): Promise<boolean> => Promise.reject(new Error('away'));
  expect(await kept({ renew })).toEqual(['trouble']);
  expect(await kept({ renew, lostAfterMs: 30 })).toEqual(['trouble', 'lost']);
});
