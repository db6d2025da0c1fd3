import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  eventsOf,
  historyMonths,
  historyNow,
  historyProjects,
  insertHistory,
  mixed,
  splitHistory,
  storedHistory,
  wholeMonths,
} from '../../test/support/retention-history.ts';
import { tempChdb, type TempChdb } from '../../test/support/chdb.ts';
import { countExpired, monthsWithExpired } from '../stores/events/expired-counts.ts';
import { addRemoved, nothingRemoved, type RemovedRows } from '../stores/events/expired-rows.ts';
import { StoreUnavailableError } from '../stores/events/eventstore.ts';
import { expiryOf, keepAll } from '../stores/events/retention-policy.ts';
import type { RetentionPolicy } from '../wire/contract/retention.ts';

const rows = 30 * 1080;
let chdb: TempChdb;
beforeAll(async () => {
  const empty = await tempChdb();
  await empty.store.close();
  await empty.supervisor.close();
  await insertHistory(empty.dir, rows);
  chdb = await tempChdb({}, empty.root);
});
afterAll(async () => {
  await chdb.close();
  await rm(chdb.root, { recursive: true, force: true });
});

async function remove(policies: ReadonlyMap<number, RetentionPolicy>): Promise<RemovedRows> {
  const expiries = [...policies].map(([project, policy]) => expiryOf(project, policy, historyNow));
  let removed = nothingRemoved;
  for (const month of await monthsWithExpired(chdb.store, expiries)) {
    removed = addRemoved(removed, await chdb.store.removeExpired(month, expiries));
  }
  return removed;
}

async function previewed(policies: ReadonlyMap<number, RetentionPolicy>): Promise<number> {
  let events = 0;
  for (const project of historyProjects) {
    const expiry = expiryOf(project, policies.get(project) as RetentionPolicy, historyNow);
    const cells = await countExpired(chdb.store, expiry, expiryOf(project, keepAll, historyNow));
    events += cells.reduce((sum, cell) => sum + cell.events, 0);
  }
  return events;
}

it('a generated history of 36 months is stored as generated', async () => {
  const { kept } = splitHistory(rows, new Map());
  expect(kept.size).toBe(historyMonths * 2 * 5 * 2);
  expect(await storedHistory(chdb.store)).toEqual(kept);
});

it('whole months of two projects are dropped, and what goes and stays is what the generator says', async () => {
  const { kept, expired } = splitHistory(rows, wholeMonths);
  expect(await previewed(wholeMonths)).toBe(eventsOf(expired));
  expect(await remove(wholeMonths)).toMatchObject({ droppedRows: eventsOf(expired), deletedRows: 0 });
  expect(await storedHistory(chdb.store)).toEqual(kept);
});

it('names and kinds with other days are removed from months that others share, with the engine killed at any moment', async () => {
  const after = splitHistory(rows, wholeMonths);
  const { kept } = splitHistory(rows, mixed);
  const both = new Map([...kept].filter(([key]) => after.kept.has(key)));
  const expected = eventsOf(after.kept) - eventsOf(both);
  expect(await previewed(mixed)).toBe(expected);
  const outcomes: unknown[] = [];
  for (const pauseMs of [0, 20, 60]) {
    const removing = remove(mixed).catch((error: unknown) => error);
    await new Promise((done) => setTimeout(done, pauseMs));
    const { pid } = chdb.supervisor;
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    outcomes.push(await removing);
    await expect.poll(() => chdb.supervisor.pid, { timeout: 30_000 }).not.toBe(pid);
    await expect.poll(async () => (await chdb.store.health()).ok, { timeout: 30_000 }).toBe(true);
  }
  expect(outcomes[0]).toBeInstanceOf(StoreUnavailableError);
  const faults = outcomes.filter((outcome) => outcome instanceof Error);
  expect(faults.filter((fault) => !(fault instanceof StoreUnavailableError))).toEqual([]);
  await remove(mixed);
  expect(await storedHistory(chdb.store)).toEqual(both);
  expect(await remove(mixed)).toEqual(nothingRemoved);
});
