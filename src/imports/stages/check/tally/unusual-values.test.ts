import { describe, expect, it } from 'vitest';
import type { ImportChoice } from '../../../../wire/contract/import-choice.ts';
import { flagWords } from '../../../run/advice-words.ts';
import type { CheckResult, UnusualFinding } from '../../../run/results.ts';
import { checkTest, type LoadedEvent } from '../../../../../test/support/check-stage.ts';

const long = 'x'.repeat(250);
const day = 1_704_067_200;

/** Returns records with every kind of unusual value, among good ones. */
function records(): object[] {
  const record = (n: number, event: string, id: string, more: object = {}): object => ({
    event,
    properties: { time: day + n, distinct_id: id, $insert_id: `i${n}`, ...more },
  });
  return [
    record(1, 'good', 'u1'),
    record(2, 'good', ' u1'),
    record(3, 'good', 'u2\t'),
    record(4, 'good', `${long}a`),
    record(5, 'good', `${long}b`),
    record(6, 'good', `y${long}`),
    record(7, long, 'u1'),
    record(8, 'good', 'u1', { [long]: 1, [`${long}b`]: 2 }),
    record(9, 'good', 'u1', { time: 86_400, mp_processing_time_ms: day * 1000 }),
    record(10, 'good', 'u1', { time: 4_000_000_000, mp_processing_time_ms: day * 1000 }),
    record(11, 'good', 'u1', { time: 'March 4, 2024 5:06 PM', mp_processing_time_ms: day * 1000 }),
  ];
}

async function checked(
  choice?: ImportChoice,
): Promise<{ result: CheckResult; events: readonly LoadedEvent[]; unusual: ReadonlyMap<string, UnusualFinding> }> {
  await using test = await checkTest({
    format: 'mixpanel',
    rejectedMax: 1,
    ...(choice === undefined ? {} : { choice }),
  });
  const lines = records().map((record) => JSON.stringify(record));
  await test.stage('first', lines.slice(0, 5), 3);
  await test.stage('second', lines.slice(5), 4);
  const result = await test.check({ words: flagWords });
  const unusual = new Map((result.odd_values ?? []).map((finding) => [finding.of, finding]));
  return { result, events: await test.events(), unusual };
}

describe('unusual values of a source', () => {
  it('are each a finding with its count, samples, outcome and the flags of the other rules', async () => {
    const { result, events, unusual } = await checked();
    expect([...unusual.values()].map(({ of, rule, count }) => [of, rule, count])).toEqual([
      ['padded_ids', 'keep', 2],
      ['long_ids', 'cut', 3],
      ['long_names', 'reject', 1],
      ['long_properties', 'keep', 2],
      ['odd_times', 'keep', 3],
    ]);
    expect(unusual.get('padded_ids')?.samples).toEqual([' u1', 'u2\t']);
    expect(unusual.get('padded_ids')?.detail).toContain('Other rules: --padded-ids trim, --padded-ids reject.');
    expect(unusual.get('long_ids')?.detail).toContain('2 different ids become fewer that way');
    expect(unusual.get('odd_times')?.samples).toEqual(
      expect.arrayContaining(['1970-01-02T00:00:00.000000Z', 'March 4, 2024 5:06 PM']),
    );
    expect(result.warnings).toEqual(expect.arrayContaining([...unusual.values()].map(({ detail }) => detail)));
    // Without a rule one name, one future time and one unreadable time are rejected.
    expect([result.totals.rejected, events.length]).toEqual([3, 8]);
  });

  it('follow the rules: nothing is lost, no two ids become one, and the sums agree', async () => {
    const rules = { padded_ids: 'trim', long_ids: 'shorten', long_names: 'shorten' } as const;
    const { result, events, unusual } = await checked({ ...rules, long_properties: 'shorten', odd_times: 'received' });
    expect([result.totals.rejected, result.totals.events_read, events.length]).toEqual([0, 11, 11]);
    expect(new Set(events.map(({ distinct_id: id }) => id)).size).toBe(5);
    expect(events.filter(({ distinct_id: id, event }) => id.length > 200 || event.length > 200)).toEqual([]);
    expect(events.filter(({ timestamp }) => !timestamp.startsWith('2024-01-01'))).toEqual([]);
    expect([...unusual.values()].map(({ of, rule, count }) => [of, rule, count])).toEqual([
      ['padded_ids', 'trim', 2],
      ['long_ids', 'shorten', 3],
      ['long_names', 'shorten', 1],
      ['long_properties', 'shorten', 1],
      ['odd_times', 'received', 3],
    ]);
  });

  it('are rejected, each with its reason, if that is the rule', async () => {
    const rules = { padded_ids: 'reject', long_ids: 'reject', odd_times: 'reject' } as const;
    const { result, events } = await checked({ ...rules, long_properties: 'reject' });
    expect([result.totals.rejected, events.length]).toEqual([10, 1]);
    expect(result.errors.map(({ reason }) => reason)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('rule for padded ids'),
        expect.stringContaining('rule for long ids'),
        expect.stringContaining('rule for long properties'),
        expect.stringContaining('rule for unusual times'),
      ]),
    );
  });
});
