import { expect, it, describe } from 'vitest';
import { mixpanelRecords } from '../../formats/mixpanel/records.fixture.ts';
import type { LeasedRun } from '../../run/leased-run.ts';
import type { RunTotals, StageProgress } from '../../run/run.ts';
import { checkTest, type CheckTest } from '../../../../test/support/check-stage.ts';
import { createCheckProgress } from './check-progress.ts';
import type { CheckDeps } from './check-deps.ts';
import { createCheckStage } from './check-stage.ts';

/** Half of these make one turn of a check. */
const perSegment = 1_000;
const lines = [...mixpanelRecords(3, 2 * perSegment)].slice(0, 2 * perSegment).map((record) => JSON.stringify(record));

type Shown = Pick<StageProgress, 'done' | 'bytes'>;

/** Returns what the run shows while it is checked; the check stops after `crashAfter` segments. */
async function shownBy(test: CheckTest, threads: number, crashAfter = Number.POSITIVE_INFINITY): Promise<Shown[]> {
  const shown: Shown[] = [];
  const held = await test.hold();
  const leased: LeasedRun = {
    ...held,
    progress: (progress: StageProgress, totals?: Partial<RunTotals>) => {
      shown.push({ done: progress.done, bytes: progress.bytes });
      held.progress(progress, totals);
    },
  };
  let segments = 0;
  const deps: CheckDeps = {
    staging: test.staging,
    runStore: test.runStore,
    eventBytesMax: 1_000_000,
    clock: { now: () => test.now },
    threads,
    limits: { threadBytesMin: 1, progressMs: 0 },
    failpoint: (name) => {
      if (name === 'import_segment_checked' && ++segments === crashAfter) throw new Error('crash');
    },
  };
  await createCheckStage(deps)(leased).catch((error: unknown) => {
    if (!(error instanceof Error) || error.message !== 'crash') throw error;
  });
  return shown;
}

function expectToGrow(shown: readonly Shown[]): void {
  expect(shown).toEqual(shown.toSorted((a, b) => a.done - b.done || a.bytes - b.bytes));
}

describe('the progress of a check', () => {
  const whole = { done: lines.length, bytes: Buffer.byteLength(`${lines.join('\n')}\n`) };

  it.each([1, 2])('grows within a segment, and ends with all records and bytes, with %d threads', async (threads) => {
    await using test = await checkTest({ format: 'mixpanel' });
    await test.stage('part', lines, perSegment);
    const shown = await shownBy(test, threads);
    const within = shown.filter(({ done }) => done % perSegment !== 0);
    expect(within.length).toBeGreaterThanOrEqual(2);
    expect(within.every(({ bytes }) => bytes > 0 && bytes < whole.bytes)).toBe(true);
    expectToGrow(shown);
    expect(shown.at(-1)).toEqual(whole);
  });

  it('grows within a segment of a run with a choice', async () => {
    await using test = await checkTest({ format: 'mixpanel', choice: { padded_ids: 'trim' } });
    await test.stage('part', lines, perSegment);
    const shown = await shownBy(test, 1);
    expect(shown.some(({ done }) => done > 0 && done < perSegment)).toBe(true);
    expectToGrow(shown);
    expect(shown.at(-1)).toEqual(whole);
  });

  it.each([1, 2])('counts every record once after a crash, with %d threads', async (threads) => {
    await using test = await checkTest({ format: 'mixpanel' });
    await test.stage('part', lines, perSegment);
    await shownBy(test, threads, 1);
    const shown = await shownBy(test, threads);
    // The segment that was checked before counts as a whole.
    expect(shown[0]?.done).toBe(perSegment);
    expectToGrow(shown);
    expect(shown.at(-1)).toEqual(whole);
  });

  it('counts a segment once if it is checked again, and never decreases', async () => {
    await using test = await checkTest();
    const shown: number[] = [];
    const leased: LeasedRun = { ...(await test.hold()), progress: ({ done }) => shown.push(done) };
    const size = { parts: 1, records: 20, bytes: 200 };
    const progress = createCheckProgress(leased, { now: () => test.now }, size);
    const [first, second] = [
      { records: 10, continued: 1, rawBytes: 100 },
      { records: 11, rawBytes: 100 },
    ];
    progress.within(second, 6);
    progress.within(first, 10);
    progress.within(second, 2);
    progress.segment(first);
    progress.within(second, 9);
    progress.segment(second);
    // A line that continues a record is not a record.
    expect(shown).toEqual([6, 15, 15, 18, 20]);
  });
});
