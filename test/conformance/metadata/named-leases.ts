import { expect, it } from 'vitest';
import { newId } from '../../../src/base/ids.ts';
import type { Use } from './metadata.ts';
import { dropLease, heldLeases, holdLease, renewLease, takeLease } from '../../../src/stores/metadata/named-leases.ts';

const start = Date.parse('2026-11-20T10:00:00.000Z');

export function testNamedLeases(use: Use): void {
  const lease = { name: 'upload 1/a', owner: 'first' };
  const next = { ...lease, owner: 'second' };

  it('a named lease has one holder until it expires or is released', async () => {
    const { db, other } = use();
    expect(await takeLease(db, lease, start, 1000)).toBe(true);
    expect(await takeLease(other, next, start + 900, 1000)).toBe(false);
    expect(await renewLease(db, lease, start + 900, 1000)).toBe(true);
    expect(await takeLease(other, next, start + 1900, 1000)).toBe(false);
    expect(await takeLease(other, next, start + 1901, 1000)).toBe(true);
    expect(await renewLease(db, lease, start + 1902, 1000)).toBe(false);
    // A former holder cannot release the lease of another.
    await dropLease(db, lease);
    expect(await takeLease(db, lease, start + 1902, 1000)).toBe(false);
    await dropLease(other, next);
    expect(await takeLease(db, lease, start + 1902, 1000)).toBe(true);
  });

  it('expired leases are not held', async () => {
    const { db } = use();
    await takeLease(db, lease, start, 1000);
    await takeLease(db, { ...lease, name: 'b' }, start, 2000);
    const names = [lease.name, 'b', 'c'];
    expect([...(await heldLeases(db, names, start + 1000))].toSorted()).toEqual(['b', lease.name]);
    expect([...(await heldLeases(db, names, start + 1001))]).toEqual(['b']);
  });

  it('one of many concurrent attempts gets the lease', async () => {
    const { db, other } = use();
    const deps = { clock: { now: async () => start }, leaseMs: 1000, onLost: () => {}, onTrouble: () => {} };
    const taken = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        holdLease({ ...deps, db: n % 2 === 0 ? db : other }, { ...lease, owner: newId() }),
      ),
    );
    const held = taken.filter((each) => each !== undefined);
    expect(held).toHaveLength(1);
    await held[0]?.();
    expect(await takeLease(db, next, start, 1000)).toBe(true);
  });
}
