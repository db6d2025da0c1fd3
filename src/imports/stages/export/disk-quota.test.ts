import { describe, expect, it } from 'vitest';
import { createCheckStage } from '../check/check-stage.ts';
import { checkTest, type CheckTest } from '../../../../test/support/check-stage.ts';
import type { LeasedRun } from '../../run/leased-run.ts';
import type { Staging } from '../../staging.ts';
import { createDiskQuota, withQuota, type DiskQuotaDeps } from './disk-quota.ts';

const lines = Array.from({ length: 300 }, (_, n) =>
  JSON.stringify({ event: 'e', properties: { time: 1_704_067_200 + n * 3600, distinct_id: 'd', $insert_id: `${n}` } }),
);

async function staged(): Promise<CheckTest> {
  const test = await checkTest({ format: 'mixpanel' });
  await test.stage('a', lines, 100);
  return test;
}

function check(leased: LeasedRun, staging: Staging): Promise<void> {
  return createCheckStage({ staging, eventBytesMax: 1_000_000, clock: { now: () => Date.parse('2026-11-20') } })(
    leased,
  );
}

/** The run notes what it waits for. */
function noting(leased: LeasedRun): { readonly leased: LeasedRun; readonly waits: (string | undefined)[] } {
  const waits: (string | undefined)[] = [];
  return { waits, leased: { ...leased, waiting: (waiting) => void waits.push(waiting?.reason) } };
}

describe('quota of the disk', () => {
  it('the check waits, with the reason, while the disk is too full for spills and for days, and then goes on', async () => {
    await using test = await staged();
    const { leased, waits } = noting(await test.hold());
    let looks = 0;
    const quota = createDiskQuota({
      staging: test.staging,
      budgetBytes: 0,
      reserveBytes: 1000,
      // Every second look finds the disk full.
      freeBytes: async () => {
        looks += 1;
        return looks % 2 === 1 ? 10 : 10_000;
      },
      sleep: async () => undefined,
    });
    await check(leased, withQuota(test.staging, quota, leased));
    const reasons = waits.filter((reason) => reason !== undefined);
    // Three segments and the days of 300 hours.
    expect(reasons).toHaveLength(3 + 13);
    expect(new Set(reasons)).toEqual(new Set([expect.stringMatching(/is on a disk with .* stay free; make room/)]));
    expect(waits.at(-1)).toBeUndefined();
    expect((await test.events()).length).toBe(300);
    expect((await test.result()).verdict).toBe('passed');
  });

  it('the disk budget holds for what the check writes, and a file counts while it is written', async () => {
    await using test = await staged();
    const leased = await test.hold();
    const before = (await test.staging.list('')).reduce((sum, { bytes }) => sum + bytes, 0);
    const waits: string[] = [];
    const stop = new AbortController();
    const sleep: DiskQuotaDeps['sleep'] = async () => stop.abort(new Error('enough seen'));
    const deps = { staging: test.staging, budgetBytes: before + 20 * 1024 ** 2, sleep };
    const quota = createDiskQuota({ ...deps, freeBytes: async () => undefined });
    const roomy = withQuota(test.staging, quota, {
      signal: stop.signal,
      waiting: (waiting) => void (waiting && waits.push(waiting.reason)),
    });
    const megabyte = Buffer.alloc(1024 ** 2);
    let given = 0;
    const endless = function* (): Generator<Uint8Array> {
      for (; given < 100; given += 1) yield megabyte;
    };
    await expect(roomy.write('r/days/2024-01-01.zst', endless())).rejects.toThrow('enough seen');
    expect(waits[0]).toMatch(/holds 3\d MiB of the 20 MiB allowed/);
    expect(given).toBeLessThanOrEqual(33);
    // What was cut off is gone, and counts no more.
    expect(await test.staging.list('r/days/')).toEqual([]);
    const { leased: again, waits: none } = noting(leased);
    await check(again, withQuota(test.staging, quota, { ...again, signal: new AbortController().signal }));
    expect(none.filter((reason) => reason !== undefined)).toEqual([]);
  });

  it('a run that is paused while it waits lets go, and leaves no file behind', async () => {
    await using test = await staged();
    const stop = new AbortController();
    const leased = await test.hold(stop.signal);
    const quota = createDiskQuota({
      staging: test.staging,
      budgetBytes: 1,
      freeBytes: async () => undefined,
      sleep: async () => stop.abort(new Error('paused')),
    });
    await expect(check(leased, withQuota(test.staging, quota, leased))).rejects.toThrow('paused');
    expect(await test.staging.list('r/spills/')).toEqual([]);
  });
});
