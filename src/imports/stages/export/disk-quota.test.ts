import { describe, expect, it } from 'vitest';
import { createCheckStage } from '../check/check-stage.ts';
import { checkTest, type CheckTest } from '../../../../test/support/check-stage.ts';
import type { LeasedRun } from '../../run/leased-run.ts';
import { createDiskQuota, type DiskQuota } from './disk-quota.ts';

const lines = Array.from({ length: 300 }, (_, n) =>
  JSON.stringify({ event: 'e', properties: { time: 1_704_067_200 + n * 3600, distinct_id: 'd', $insert_id: `${n}` } }),
);

async function staged(): Promise<CheckTest> {
  const test = await checkTest({ format: 'mixpanel' });
  await test.stage('a', lines, 100);
  return test;
}

function check({ staging, runStore }: CheckTest, leased: LeasedRun, quota: DiskQuota): Promise<void> {
  const clock = { now: () => Date.parse('2026-11-20') };
  const waitForRoom = (): Promise<void> => quota.wait(leased);
  return createCheckStage({ staging, runStore, waitForRoom, eventBytesMax: 1_000_000, clock })(leased);
}

/** Records what the run waits for. */
function recording(leased: LeasedRun): { readonly leased: LeasedRun; readonly waits: (string | undefined)[] } {
  const waits: (string | undefined)[] = [];
  return { waits, leased: { ...leased, waiting: (waiting) => void waits.push(waiting?.reason) } };
}

describe('quota of the disk', () => {
  it('the check waits, with the reason, while the disk is too full for rows, and then continues', async () => {
    await using test = await staged();
    const { leased, waits } = recording(await test.hold());
    let polls = 0;
    const quota = createDiskQuota({
      staging: test.staging,
      budgetBytes: 0,
      reserveBytes: 1000,
      // Every second poll finds the disk full.
      freeBytes: async () => {
        polls += 1;
        return polls % 2 === 1 ? 10 : 10_000;
      },
      sleep: async () => undefined,
    });
    await check(test, leased, quota);
    const reasons = waits.filter((reason) => reason !== undefined);
    // Three segments.
    expect(reasons).toHaveLength(3);
    expect(new Set(reasons)).toEqual(
      new Set([expect.stringMatching(/is on a disk with .* stay free; free some space/)]),
    );
    expect(waits.at(-1)).toBeUndefined();
    expect((await test.events()).length).toBe(300);
    expect((await test.result()).verdict).toBe('passed');
  });

  it('a run that is paused while it waits stops, and leaves no file of a segment behind', async () => {
    await using test = await staged();
    const stop = new AbortController();
    const leased = await test.hold(stop.signal);
    const quota = createDiskQuota({
      staging: test.staging,
      budgetBytes: 1,
      freeBytes: async () => undefined,
      sleep: async () => stop.abort(new Error('paused')),
    });
    await expect(check(test, leased, quota)).rejects.toThrow('paused');
    // Which tracking plan a check began with is kept for its next attempt.
    expect((await test.staging.list('r/checked/')).map(({ key }) => key)).toEqual(['r/checked/plan.json']);
  });
});
