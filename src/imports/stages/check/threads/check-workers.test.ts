import { describe, expect, it } from 'vitest';
import type { FormatOptions } from '../../../formats/format.ts';
import { amplitudeRecords } from '../../../formats/amplitude/records.fixture.ts';
import { ga4Records } from '../../../formats/ga4/records.fixture.ts';
import { mixpanelRecords } from '../../../formats/mixpanel/records.fixture.ts';
import { posthogRecords } from '../../../formats/posthog/records.fixture.ts';
import { segmentRecords } from '../../../formats/segment/records.fixture.ts';
import { bytesOf, checkTest, type CheckTest } from '../../../../../test/support/check-stage.ts';
import { readRunTable } from '../../../../../test/support/run-store.ts';
import type { CheckLimits } from '../check-deps.ts';
import { createCheckStage } from '../check-stage.ts';

const small: Partial<CheckLimits> = { threadBytesMin: 1, deferredRows: 20 };

/** Returns lines that recur in other segments (links, counted ids, contents of groups), and lines that are not records. */
function linesOf(records: readonly unknown[]): readonly string[] {
  const lines = records.map((record) => JSON.stringify(record));
  const again = lines.filter((_, index) => index % 9 === 0);
  return [...lines, '{"broken', '', ...again, '7', ...again.toReversed()];
}

/** Blank lines are not records. */
function recordsIn(lines: readonly string[]): number {
  return lines.filter((line) => line !== '').length;
}

const sources: readonly (readonly [string, readonly unknown[], FormatOptions])[] = [
  ['mixpanel', [...mixpanelRecords(3, 200)], { profile_time: '2024-01-01T00:00:00Z' }],
  ['amplitude', [...amplitudeRecords(5, 200)], {}],
  ['posthog', [...posthogRecords(8, 200)], { link_persons: 'yes' }],
  ['ga4', [...ga4Records(4, 200)], {}],
  ['segment', [...segmentRecords(4, 200)], {}],
  ['segment', [...segmentRecords(6, 200)], { duplicates: 'drop' }],
];

async function staged(format: string, formatOptions: FormatOptions, lines: readonly string[]): Promise<CheckTest> {
  const test = await checkTest({ format, formatOptions });
  const middle = Math.floor(lines.length / 3);
  await test.stage('first', lines.slice(0, middle), 60);
  await test.stage('empty', [], 60);
  await test.stage('second', lines.slice(middle), 60);
  return test;
}

/** Returns every file of the run, byte by byte, and every row of both tables. */
async function everything(test: CheckTest): Promise<unknown> {
  const files = await test.staging.list('r/');
  const bytes = await Promise.all(
    files.map(async ({ key }) => [key, (await bytesOf(test.staging, key)).toString('base64')] as const),
  );
  const tables = [await readRunTable(test.runStore, test.run), await readRunTable(test.runStore, test.run, 'facts')];
  const rows = tables.map((days) => days.map(({ rows: each }) => each.map((row) => ({ ...row, projectId: 0 }))));
  return { files: Object.fromEntries(bytes), rows, days: await test.days() };
}

describe('a check in several threads', () => {
  it.each(sources)('%s: writes the same bytes with 1, 2 and 4 of them', async (format, records, options) => {
    const lines = linesOf(records);
    const found: unknown[] = [];
    for (const threads of [1, 2, 4]) {
      await using test = await staged(format, options, lines);
      const { totals } = await test.check({ limits: small, threads });
      expect(totals.records).toBe(recordsIn(lines));
      expect(totals.rejected).toBeGreaterThan(0);
      found.push(await everything(test));
    }
    expect(found[1]).toEqual(found[0]);
    expect(found[2]).toEqual(found[0]);
  });

  it('continues with another number after each crash, and has the same result', async () => {
    const lines = linesOf([...mixpanelRecords(3, 200)]);
    await using whole = await staged('mixpanel', {}, lines);
    await whole.check({ limits: small, threads: 1 });
    await using test = await staged('mixpanel', {}, lines);
    const numbers = [3, 1, 4, 2];
    let crashes = 0;
    for (let done = false; !done;) {
      let days = 0;
      const failpoint = (name: string): void => {
        if (name === 'import_days_settled') days += 1;
        if (name === 'import_segment_checked' || (days === 1 && crashes < 12)) throw new Error('crash');
      };
      const threads = numbers[crashes % numbers.length] ?? 1;
      done = await test.check({ limits: small, threads, failpoint }).then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof Error) || error.message !== 'crash') throw error;
          crashes += 1;
          return false;
        },
      );
    }
    expect(crashes).toBeGreaterThan(3);
    expect(await everything(test)).toEqual(await everything(whole));
  });

  it('stops with the run, and continues when that is resumed', async () => {
    const lines = linesOf([...mixpanelRecords(3, 200)]);
    await using test = await staged('mixpanel', {}, lines);
    const stop = new AbortController();
    const failpoint = (name: string): void => {
      if (name === 'import_segment_checked') stop.abort(new Error('paused'));
    };
    const deps = {
      staging: test.staging,
      runStore: test.runStore,
      eventBytesMax: 1_000_000,
      clock: { now: () => test.now },
      limits: small,
    };
    const leased = await test.hold(stop.signal);
    await expect(createCheckStage({ ...deps, threads: 2, failpoint })(leased)).rejects.toThrow('paused');
    expect(await test.check({ limits: small, threads: 2 })).toMatchObject({ totals: { records: recordsIn(lines) } });
  });
});
