import { describe, expect, it } from 'vitest';
import { checkTest, type CheckTest } from '../../../../test/support/check-stage.ts';
import { readPlan } from '../../../wire/tracking-plan/read-plan.ts';
import type { CheckResult } from '../../run/results.ts';
import type { RunOptions } from '../../run/run.ts';
import { stagingKeys } from '../../staging.ts';
import type { PlanText } from '../../run/tracking-plan-of.ts';

const options: Partial<RunOptions> = {
  format: 'mapping',
  formatOptions: {
    mapping: JSON.stringify({ event: 'event', distinct_id: 'user', timestamp: 'at', uuid: 'id' }),
  },
  rejectedMax: 1,
};

function record(id: number, event: string, more = ''): string {
  const at = new Date(Date.UTC(2024, 0, 1 + (id % 5), 12, 0, id % 60)).toISOString();
  return `{"id":"r${id}","event":${JSON.stringify(event)},"user":"u${id % 7}","at":"${at}"${more}}`;
}

const bought = {
  name: 'bought',
  schema: { properties: { n: { type: 'integer', maximum: 9007199254740992 } }, required: ['n'] },
};
const planText = (plan: unknown, version = 3): PlanText => ({ version, plan: JSON.stringify(readPlan(plan)) });

async function checked(test: CheckTest, plan: unknown, threads = 1): Promise<CheckResult> {
  const limits = { threadBytesMin: 1 };
  return test.check({ trackingPlan: async () => planText(plan), threads, limits });
}

/** A good event, one of each fault, and good ones again. */
const lines = [
  record(1, 'bought', ',"n":1'),
  record(2, 'bought', ',"n":"1"'),
  record(3, 'bought', ',"n":9007199254740993'),
  record(4, 'bought', ',"n":9007199254740992'),
  record(5, 'bought'),
  record(6, 'seen "é😀"', ',"n":1'),
  record(7, 'bought', ',"n":7'),
];
const findings = ({ findings: all = [] }: CheckResult): unknown[] =>
  all.filter(({ code }) => code === 'tracking_plan').map(({ count, detail }) => [count, detail.split(' violated ')[0]]);
const allRules = [
  [1, 'Events "bought" with another "n" than planned (maximum)'],
  [1, 'Events "bought" without the required property "n"'],
  [1, 'Events "bought" with another "n" than planned (type)'],
  [1, 'Unplanned events "seen \\"é😀\\""'],
];

describe('the check of an import into a project with a tracking plan', () => {
  it('reports violations by rule with counts and places, and stores all events with policy warn', async () => {
    await using test = await checkTest(options);
    await test.stage('file', lines, 3);
    const result = await checked(test, { events: [bought], unplanned_events: 'warn' });
    expect(findings(result)).toEqual(allRules);
    const first = result.findings?.find(({ detail }) => detail.includes('maximum'));
    expect(first).toMatchObject({
      samples: ['file, line 3: expected a number of at most 9007199254740992, got: 9007199254740993'],
    });
    expect(first?.detail).toContain('violated the tracking plan (version 3) 1 time: these events are stored unchanged');
    expect([result.verdict, result.totals.events, result.totals.rejected]).toEqual(['passed', 7, 0]);
    expect(await test.events()).toHaveLength(7);
  });

  it('skips events with policy drop', async () => {
    await using test = await checkTest(options);
    await test.stage('file', lines, 3);
    const result = await checked(test, { events: [bought], policy: 'drop', unplanned_events: 'drop' });
    expect(findings(result)).toEqual(allRules);
    const { records, skipped, rejected, events, events_read: read, left_out: excluded } = result.totals;
    const reason = 'dropped by the tracking plan';
    expect({ records, skipped, rejected, events, read, excluded }).toEqual({
      records: 7,
      skipped: { [reason]: 4 },
      rejected: 0,
      events: 3,
      read: 7,
      excluded: { [reason]: 4 },
    });
    expect((await test.events()).map(({ properties }) => properties['n'])).toEqual(
      expect.arrayContaining([1, 9007199254740992, 7]),
    );
  });

  it('rejects events with policy dead_letter, each with its record and reason', async () => {
    await using test = await checkTest(options);
    await test.stage('file', lines, 3);
    const result = await checked(test, { events: [bought], policy: 'dead_letter', unplanned_events: 'dead_letter' });
    expect([result.totals.rejected, result.totals.rejected_events, result.totals.events]).toEqual([4, 4, 7]);
    const rejected = await test.rejected();
    expect(rejected.map(({ line, code, reason }) => [line, code, reason])).toEqual([
      [2, 'event_refused_by_tracking_plan', 'n: expected integer, got: "1"'],
      [3, 'event_refused_by_tracking_plan', 'n: expected a number of at most 9007199254740992, got: 9007199254740993'],
      [5, 'event_refused_by_tracking_plan', 'n: expected a value, got: none'],
      [6, 'event_refused_by_tracking_plan', 'expected an event of the tracking plan, got: "seen \\"é😀\\""'],
    ]);
    expect(rejected.map(({ original }) => original)).toEqual([1, 2, 4, 5].map((at) => lines[at]));
    expect(await test.events()).toHaveLength(3);
  });

  it('gives the same result in several threads', async () => {
    const many = Array.from({ length: 300 }, (_, n) =>
      record(n, n % 50 === 0 ? 'other' : 'bought', n % 30 === 7 ? ',"n":"x"' : `,"n":${n}`),
    );
    const results: unknown[] = [];
    for (const threads of [1, 3]) {
      await using test = await checkTest(options);
      await test.stage('file', many, 20);
      await test.stage('other', lines, 2);
      const result = await checked(
        test,
        { events: [bought], policy: 'drop', unplanned_events: 'dead_letter' },
        threads,
      );
      results.push([result.findings, result.totals, await test.lines()]);
    }
    expect(results[1]).toEqual(results[0]);
  });

  it('stores the same rows with a plan that every event meets as without one', async () => {
    const rows: unknown[] = [];
    for (const plan of [undefined, planText({ events: [bought], policy: 'drop', unplanned_events: 'drop' })]) {
      await using test = await checkTest(options);
      await test.stage(
        'file',
        lines.filter((line) => /"n":(1|7|9007199254740992)}$/.test(line) && !line.includes('seen')),
        2,
      );
      await test.check({ trackingPlan: async () => plan });
      rows.push(await test.lines());
    }
    expect(rows[0]).toHaveLength(3);
    expect(rows[1]).toEqual(rows[0]);
  });

  it('continues with the plan with which it began, although another was saved in the meantime', async () => {
    await using test = await checkTest(options);
    await test.stage('file', lines, 2);
    const strict = planText({ events: [bought], policy: 'drop', unplanned_events: 'drop' });
    const dies = (name: string): void => {
      if (name === 'import_segment_checked') throw new Error('dies');
    };
    await expect(test.check({ trackingPlan: async () => strict, failpoint: dies })).rejects.toThrow('dies');
    const result = await test.check({ trackingPlan: async () => planText({}, 4) });
    expect([result.totals.events, findings(result).length]).toEqual([3, 4]);
    expect(await test.staging.list(stagingKeys.checkedPlan('r'))).toEqual([]);
  });

  it('does not validate links that a format creates', async () => {
    await using test = await checkTest({ format: 'mixpanel' });
    const properties = { time: 1_704_067_200, distinct_id: 'u', $device_id: 'd', $user_id: 'u', $insert_id: 'i' };
    await test.stage('file', [JSON.stringify({ event: 'bought', properties })], 5);
    const identify = { name: '$identify', schema: { required: ['never'] } };
    const result = await checked(test, { events: [identify, { name: 'bought' }], policy: 'drop' });
    expect(findings(result)).toEqual([]);
    expect((await test.events()).map(({ event }) => event).sort()).toEqual(['$identify', 'bought']);
  });
});
