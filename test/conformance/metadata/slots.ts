import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Use } from './metadata.ts';
import {
  claimSlots,
  createSlots,
  holdSlot,
  joinWorkers,
  leaveWorkers,
  releaseSlots,
  renewSlots,
  seizeSlot,
  SlotCountError,
  SlotLostError,
  type SlotHold,
} from '../../../src/stores/metadata/slot-leases.ts';

/** Runs on a migrated store. */
export function testSlots(use: Use): void {
  it('a worker that lost a slot can no longer commit', async () => {
    const { db, other } = use();
    const first = await seizeSlot(db, 0, 'first');
    const work = (): Promise<void> => db.transaction().execute((tx) => holdSlot(tx, first));
    await work();
    const second = await seizeSlot(other, 0, 'second');
    expect(second.epoch).toBe(first.epoch + 1);
    await expect(work()).rejects.toBeInstanceOf(SlotLostError);
    await expect(work()).rejects.toThrow(`expected to hold slot 0 in epoch ${first.epoch}, got: epoch ${second.epoch}`);
    await db.transaction().execute((tx) => holdSlot(tx, second));
  });

  it('a missing slot cannot be held', async () => {
    const { db } = use();
    const work = db.transaction().execute((tx) => holdSlot(tx, { slot: 7, epoch: 0 }));
    await expect(work).rejects.toThrow('expected to hold slot 7 in epoch 0, got: no such slot');
  });
}

const slotsOf = (holds: readonly SlotHold[]): number[] => holds.map(({ slot }) => slot).toSorted((a, b) => a - b);

/** Runs on a migrated store. */
export function testSlotLeases(use: Use): void {
  const a = { owner: 'a', leaseMs: 60_000 };
  const b = { owner: 'b', leaseMs: 60_000 };

  it('the slots of a cluster are created once, by the first process', async () => {
    const { db, other } = use();
    await Promise.all([createSlots(db, 8), createSlots(other, 8)]);
    expect(await db.selectFrom('slots').select('slot').orderBy('slot').execute()).toHaveLength(8);
    expect(await db.selectFrom('log_cursors').selectAll().execute()).toHaveLength(16);
  });

  it('another number of slots is refused, and so are slots for a log of one machine in use', async () => {
    const { db } = use();
    await db.updateTable('log_cursors').set({ seq: 1 }).where('lane', '=', 'live').execute();
    await expect(createSlots(db, 4)).rejects.toBeInstanceOf(SlotCountError);
    await createSlots(db, 1);
    await db.updateTable('log_cursors').set({ seq: 0 }).execute();
    await createSlots(db, 4);
    await expect(createSlots(db, 8)).rejects.toThrow('expected 8 slots, got a store with 4');
  });

  it('a slot is leased to one of many concurrent workers at a time', async () => {
    const { db, other } = use();
    await createSlots(db, 8);
    const claims = await Promise.all([claimSlots(db, a, 5), claimSlots(other, b, 5)]);
    const rest = [await claimSlots(db, a, 8), await claimSlots(other, b, 8)];
    expect(slotsOf([...claims, ...rest].flat())).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(claims.flat().every(({ epoch }) => epoch === 1)).toBe(true);
  });

  it('a renewed lease keeps its worker, and an expired one goes to the next worker in a new epoch', async () => {
    const { db, other } = use();
    // Each sleep may take half as long again on a busy machine.
    const brief = { owner: 'a', leaseMs: 2000 };
    const [hold] = await claimSlots(db, brief, 1);
    await sleep(1200);
    expect(await renewSlots(db, brief)).toMatchObject([{ slot: 0, epoch: 1 }]);
    await sleep(1200);
    expect(await claimSlots(other, b, 1)).toEqual([]);
    await sleep(1200);
    expect(await claimSlots(other, b, 1)).toMatchObject([{ slot: 0, epoch: 2 }]);
    expect(await renewSlots(db, brief)).toEqual([]);
    const write = db.transaction().execute((tx) => holdSlot(tx, hold as SlotHold));
    await expect(write).rejects.toBeInstanceOf(SlotLostError);
  });

  it('a released slot is free immediately', async () => {
    const { db, other } = use();
    await createSlots(db, 2);
    await claimSlots(db, a, 2);
    // Another worker cannot release it.
    await releaseSlots(other, 'b', [0]);
    expect(await claimSlots(other, b, 2)).toEqual([]);
    await releaseSlots(db, 'a', [1]);
    expect(slotsOf(await claimSlots(other, b, 2))).toEqual([1]);
    expect(slotsOf(await renewSlots(db, a))).toEqual([0]);
  });

  it('active workers count each other; one that is silent for half a lease or leaves is no longer counted', async () => {
    const { db, other } = use();
    expect(await joinWorkers(db, { owner: 'a', leaseMs: 3000 })).toEqual({ count: 1, rank: 0 });
    expect(await joinWorkers(other, b)).toEqual({ count: 2, rank: 1 });
    await sleep(1600);
    expect(await joinWorkers(other, b)).toEqual({ count: 1, rank: 0 });
    expect(await joinWorkers(db, a)).toEqual({ count: 2, rank: 0 });
    await leaveWorkers(db, 'a');
    expect(await joinWorkers(other, b)).toEqual({ count: 1, rank: 0 });
  });
}
