import { describe, expect, it } from 'vitest';
import { checkTest, bytesOf } from '../../../../test/support/check-stage.ts';
import {
  carriedIn,
  carriedText,
  createRecords,
  listCarriers,
  withValue,
} from '../../../../test/support/digit-carriers.ts';
import { deepValue } from '../../../../test/support/exact-values.ts';
import { mixpanelRecords } from '../../formats/mixpanel/records.fixture.ts';
import { stagingKeys } from '../../staging.ts';
import { readFindings } from './tally/findings-file.ts';

const forty = '1234567890123456789012345678901234567890';
/** Values of real exports that a path through JavaScript values loses or rejects. */
const values: readonly string[] = [
  '1234567890123456789',
  `-${forty}`,
  '1.50',
  '0.1000000000000000055511151231257827',
  '"\\ud800"',
  '"a\\u0000b"',
  deepValue(20, forty),
];
const allValues = values.join(',');

describe('values of records cross the threads of a check', () => {
  describe.each(listCarriers().map((carrier) => [carrier.format.slug, carrier] as const))('%s', (_, carrier) => {
    it.each([1, 2])('with every digit and character, checked by %i threads', async (threads) => {
      const [template = ''] = carrier.templates;
      const record = createRecords(carrier.format, template);
      const lines = Array.from({ length: 12 }, (__, n) => withValue(record(n), allValues));
      await using test = await checkTest({ format: carrier.format.slug, formatOptions: carrier.options });
      await test.stage('a', lines.slice(0, 6), 3);
      await test.stage('b', lines.slice(6), 3);
      const { totals } = await test.check({ threads, limits: { threadBytesMin: 1 } });
      expect(totals.rejected).toBe(0);
      const carried = (await test.lines()).flatMap(carriedIn);
      expect(carried.length).toBeGreaterThanOrEqual(12);
      expect(new Set(carried)).toEqual(new Set([carriedText(allValues)]));
      // The samples that users see.
      const result = (await bytesOf(test.staging, stagingKeys.check('r'))).toString();
      expect(new Set(carriedIn(result))).toEqual(new Set([carriedText(allValues)]));
    });
  });

  it('a record that nests thousands of levels deep is rejected with its reason, and affects no other', async () => {
    const clean = JSON.stringify([...mixpanelRecords(1, 1)][0]);
    const deep = [60, 70, 2000, 5000, 100_000].flatMap((levels) => {
      const holder = (value: string): string =>
        `{"event":"Deep","properties":{"time":1700000000,"distinct_id":"d","$insert_id":"${levels}","deep":${value}}}`;
      const open = '['.repeat(levels);
      const close = ']'.repeat(levels);
      return [holder(`${open}1${close}`), holder(`${open}${forty}${close}`)];
    });
    await using test = await checkTest({ format: 'mixpanel' });
    await test.stage('a', [...deep, clean], 100);
    await test.stage('b', [clean, ...deep], 100);
    const { totals, errors } = await test.check({ threads: 2, limits: { threadBytesMin: 1 } });
    expect(totals).toMatchObject({ records: 22, rejected: 16 });
    for (const { reason } of errors) expect(reason).toMatch(/^expected at most \d+ levels of nesting/);
  });
});

describe('the counts of a check', () => {
  it('a record whose link repeats one of another segment is converted, not skipped', async () => {
    const line = (n: number): string =>
      JSON.stringify({
        event: 'Seen',
        properties: { time: 1_700_000_000 + n, distinct_id: 'u', $device_id: 'd', $user_id: 'u', $insert_id: `i${n}` },
      });
    await using test = await checkTest({ format: 'mixpanel' });
    for (const part of [0, 1, 2, 3]) {
      await test.stage(
        `p${part}`,
        Array.from({ length: 20 }, (_, n) => line(part * 20 + n)),
        10,
      );
    }
    const { totals, identity } = await test.check();
    expect(totals).toMatchObject({ records: 80, converted: 80, skipped: {}, rejected: 0, events: 81, duplicates: 0 });
    expect(identity.identifies).toBe(1);
  });

  it('a record of links that other segments have is skipped', async () => {
    const line = JSON.stringify({ from_user_id: 'a', to_user_id: 'u', time: '2024-05-01T00:00:00Z' });
    await using test = await checkTest({ format: 'heap' });
    await test.stage('a', [line], 10);
    await test.stage('b', [line], 10);
    const { totals } = await test.check();
    expect(totals).toMatchObject({ records: 2, converted: 1, skipped: { 'nothing to import in the record': 1 } });
  });

  it('the findings file of a segment keeps every digit', async () => {
    await using test = await checkTest({ format: 'mixpanel' });
    const record = { event: 'Big', properties: { time: 1_700_000_000, distinct_id: 'd', $insert_id: 'i', big: '@' } };
    await test.stage('a', [JSON.stringify(record).replace('"@"', forty)], 10);
    const stopped = (): never => {
      throw new Error('stop before the files are removed');
    };
    await expect(
      test.check({ failpoint: (name) => (name === 'import_segment_checked' ? stopped() : undefined) }),
    ).rejects.toThrow('stop before');
    const { findings } = await readFindings(test.staging, 'r', { seq: 1, index: 0 });
    expect(JSON.stringify(findings.samples)).toContain(forty);
  });
});
