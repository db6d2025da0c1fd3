import { describe, expect, it } from 'vitest';
import type { ImportChoice } from '../../../wire/contract/import-choice.ts';
import { mixpanelRecords } from '../../formats/mixpanel/records.fixture.ts';
import { segmentRecords } from '../../formats/segment/records.fixture.ts';
import { checkTest, type CheckTest, type LoadedEvent } from '../../../../test/support/check-stage.ts';

const sum = (counts: Readonly<Record<string, number>> = {}): number =>
  Object.values(counts).reduce((all, count) => all + count, 0);

async function stageAll(test: CheckTest, records: Iterable<unknown>): Promise<void> {
  const lines = [...records].map((record) => JSON.stringify(record));
  await test.stage('first', [...lines.slice(0, 300), 'not json'], 100);
  await test.stage('second', lines.slice(300), 170);
}

async function checked(
  format: string,
  records: () => Iterable<unknown>,
  choice?: ImportChoice,
): Promise<{ result: Awaited<ReturnType<CheckTest['check']>>; events: readonly LoadedEvent[] }> {
  await using test = await checkTest({ format, rejectedMax: 1, ...(choice === undefined ? {} : { choice }) });
  await stageAll(test, records());
  return { result: await test.check(), events: await test.events() };
}

const sources = [
  ['mixpanel', () => mixpanelRecords(3, 600)],
  ['segment', () => segmentRecords(3, 600)],
] as const;
const ids = (events: readonly LoadedEvent[]): string[] => events.map(({ uuid }) => uuid).toSorted();

describe('a run with a choice', () => {
  it.each(sources)('%s: every record and every event is in exactly one sum', async (format, records) => {
    const times = (await checked(format, records)).events.map(({ timestamp }) => timestamp).toSorted();
    const choice = {
      time: { from: times[Math.floor(times.length / 4)] ?? '', to: times[Math.floor(times.length / 2)] ?? '' },
      events: { except: ['$identify'] },
      sample: 0.5,
      identity: 'never_merge' as const,
      properties: { rename: { plan: 'tier' }, except: ['$browser'] },
    };
    const { result, events } = await checked(format, records, choice);
    const { totals } = result;
    expect(events.length).toBeGreaterThan(0);
    expect(totals.records).toBe(601);
    expect((totals.converted ?? 0) + sum(totals.skipped) + totals.rejected - (totals.rejected_events ?? 0)).toBe(601);
    expect(totals.events_read).toBe(totals.events + sum(totals.left_out));
    expect(totals.events).toBe(events.length + totals.duplicates + (totals.rejected_events ?? 0));
    expect(events.filter(({ properties }) => Object.hasOwn(properties, '$browser'))).toEqual([]);
    expect(Object.keys(totals.left_out ?? {})).toEqual(
      expect.arrayContaining(['before the time range', 'after the time range', 'not in the sample']),
    );
  });

  it.each(sources)('%s: two adjacent ranges load what the whole does, each event once', async (format, records) => {
    const whole = (await checked(format, records)).events.filter(({ event }) => event !== '$identify');
    const middle = whole[Math.floor(whole.length / 2)]?.timestamp ?? '';
    const except = { except: ['$identify'] };
    const before = await checked(format, records, { time: { to: middle }, events: except });
    const after = await checked(format, records, { time: { from: middle }, events: except });
    expect([...ids(before.events), ...ids(after.events)].toSorted()).toEqual(ids(whole));
  });

  it('a check that continues after a crash has the same result', async () => {
    const choice = { sample: 0.5 };
    const whole = await checked('mixpanel', () => mixpanelRecords(3, 600), choice);
    await using test = await checkTest({ format: 'mixpanel', rejectedMax: 1, choice });
    await stageAll(test, mixpanelRecords(3, 600));
    let segments = 0;
    const failpoint = (name: string): void => {
      if (name === 'import_segment_checked' && (segments += 1) === 3) throw new Error('crash');
    };
    await expect(test.check({ failpoint })).rejects.toThrow('crash');
    const { totals, samples } = await test.check();
    expect(totals).toEqual(whole.result.totals);
    expect(samples.length).toBeGreaterThan(0);
    expect(ids(await test.events())).toEqual(ids(whole.events));
  });

  it('the check warns of links that a list excludes, with their number', async () => {
    const { result } = await checked('segment', () => segmentRecords(3, 600), { events: { only: ['Order *'] } });
    const links = result.totals.left_out?.['link between ids that is not in the list of events'] ?? 0;
    expect(links).toBeGreaterThan(0);
    expect(result.warnings).toContainEqual(
      expect.stringMatching(new RegExp(`does not include ${links} links between ids`)),
    );
  });

  it.each<[string, ImportChoice | undefined]>([
    ['without a choice', undefined],
    ['with a choice', { properties: { rename: { plan: 'tier' } } }],
    ['of a time range', { time: { from: '2024-01-01T00:00:00Z' } }],
  ])('%s, a link has the time of the earliest record, in any order of the files', async (_, choice) => {
    await using test = await checkTest({ format: 'mixpanel', ...(choice !== undefined && { choice }) });
    const day = (of: number): string =>
      JSON.stringify({
        event: 'Order',
        properties: {
          time: Date.UTC(2024, 0, of) / 1000,
          distinct_id: 'u1',
          $user_id: 'u1',
          $device_id: 'd1',
          $insert_id: `i${of}`,
        },
      });
    await test.stage('later', [day(9), day(5)], 1);
    await test.stage('earlier', [day(7), day(2), day(3)], 2);
    const { totals } = await test.check();
    const links = (await test.events()).filter(({ event }) => event === '$identify');
    expect(links.map(({ timestamp }) => Date.parse(timestamp))).toEqual([Date.UTC(2024, 0, 2)]);
    expect(totals).toMatchObject({ records: 5, converted: 5, events: 6, duplicates: 0 });
    expect((totals.events_read ?? 6) - sum(totals.left_out)).toBe(6);
  });

  it.each([1, 3])('a link is created at the earliest included record, with %d threads', async (threads) => {
    const choice = { time: { from: '2024-01-04T00:00:00Z' } };
    await using test = await checkTest({ format: 'mixpanel', choice });
    const at = (day: number): string => {
      const time = Date.UTC(2024, 0, day) / 1000;
      const ids = { distinct_id: 'u1', $user_id: 'u1', $device_id: 'd1', $insert_id: `i${day}` };
      return JSON.stringify({ event: 'Order', properties: { time, ...ids } });
    };
    await test.stage('first', [2, 9, 1, 5].map(at), 1);
    await test.stage('second', [7, 3, 6].map(at), 1);
    const { totals } = await test.check({ limits: { threadBytesMin: 1 }, threads });
    const links = (await test.events()).filter(({ event }) => event === '$identify');
    expect(links.map(({ timestamp }) => timestamp.slice(0, 10))).toEqual(['2024-01-05']);
    expect(totals).toMatchObject({ events_read: 8, events: 5, left_out: { 'before the time range': 3 } });
  });
});
