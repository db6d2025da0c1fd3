import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tempChdb, type TempChdb } from '../../../../test/support/chdb.ts';
import { loadRun, type LoadedRun } from '../../../../test/support/loaded-run.ts';
import type { VerifyResult } from '../../run/results.ts';

let chdb: TempChdb;
beforeAll(async () => {
  chdb = await tempChdb();
});
afterAll(() => chdb.close());

const since = Date.parse('2024-03-01');

/** Removes the 20 events of 1969 of the run's 320. */
async function expire({ test }: LoadedRun): Promise<void> {
  const keptSince = { live: null, historical: BigInt(since) * 1000n };
  await chdb.store.removeExpired(196_912, [{ projectId: test.run.projectId, keptSince, events: [] }]);
}

describe('verifying a run after its events have expired', () => {
  it('reports events that retention has removed as expired, and others as missing', async () => {
    await using loaded = await loadRun(chdb.store, (events) => events.filter((_, n) => n !== 5));
    await expire(loaded);
    const before = await loaded.verify();
    expect(before).toMatchObject({ verdict: 'different', expected: 320, cells: expect.arrayContaining([]) as unknown });
    const missing = ({ differences }: VerifyResult): string[] => differences.map(({ kind, day }) => `${kind} ${day}`);
    expect(missing(before)).toContain('missing 1969-12-30');
    const after = await loaded.verify({ expiredBefore: async () => () => since });
    expect(after.expired).toBe(20);
    expect(new Set(missing(after))).toEqual(new Set(['missing 2024-03-01']));
    expect(after.found + (after.expired ?? 0) + after.differences.length).toBe(320);
  });

  it('is exact if all that is missing has expired', async () => {
    await using loaded = await loadRun(chdb.store);
    await expire(loaded);
    expect(await loaded.verify({ expiredBefore: async () => () => since })).toMatchObject({
      verdict: 'exact',
      detail:
        'All 300 events of 2 days are stored with the expected id, time, name and properties. 20 other events have expired: ' +
        'the project keeps historical events for fewer days.',
      found: 300,
      expired: 20,
      cells: [7, 7, 6].map((expired) => ({ day: '1969-12-30', expected: expired, found: 0, expired })),
    });
  });
});
