import { describe, expect, it } from 'vitest';
import { FormatOptionsError } from '../format.ts';
import { plausible } from './plausible.ts';
import {
  checkRecords,
  eventsFrom,
  eventsOf,
  eventsOfExample,
  readAll,
  readHostile,
} from '../../../../test/support/format-check.ts';
import { plausibleRecords } from './records.fixture.ts';

const row = { date: '2024-05-01', hostname: 'a.example', page: '/x', visitors: '2', pageviews: '5' };
const yes = { synthesise: 'yes' };

describe('totals of Plausible', () => {
  it('are rejected with an explanation unless page views are to be generated', () => {
    for (const options of [{}, { synthesise: 'no' }]) {
      expect(() => plausible.createReader(options, plausible.names)).toThrow(FormatOptionsError);
      expect(() => plausible.createReader(options, plausible.names)).toThrow(/synthesise=yes.*totals per day/);
    }
    expect(() => plausible.createReader({ ...yes, time_zone: 'Mars' }, plausible.names)).toThrow(/time_zone/);
  });

  it('converts the example of the format as documented', () => {
    expect(eventsOfExample(plausible)).toEqual(plausible.example.events);
  });

  it('give the counted page views and visitors, all on that day, all marked', () => {
    const events = eventsFrom(plausible, row, yes);
    expect(events).toHaveLength(5);
    expect(new Set(events.map((event) => event.distinct_id))).toEqual(
      new Set(['plausible-2024-05-01-0', 'plausible-2024-05-01-1']),
    );
    expect(new Set(events.map((event) => event.timestamp.slice(0, 10)))).toEqual(new Set(['2024-05-01']));
    for (const { event, properties } of events) {
      expect(event).toBe('$pageview');
      expect(properties).toMatchObject({
        $synthetic: true,
        $process_person_profile: false,
        $current_url: 'https://a.example/x',
      });
    }
  });

  it('a day begins in the zone of the site, even when clocks change', () => {
    const options = { ...yes, time_zone: 'Europe/Berlin' };
    const times = (date: string) =>
      eventsFrom(plausible, { ...row, date, pageviews: '1' }, options).map(({ timestamp }) => timestamp);
    expect(times('2024-05-01')).toEqual(['2024-05-01T10:00:00.000Z']);
    expect(times('2024-03-31')).toEqual(['2024-03-31T10:30:00.000Z']);
  });

  it.each([
    [{ page: undefined, hostname: undefined, browser: 'Firefox' }, 'a total of a table other than imported_pages'],
    [{ pageviews: '0' }, 'a page without views'],
  ])('skips %j', (change, reason) => {
    expect(readAll(plausible, [{ ...row, ...change }], yes)).toEqual([{ kind: 'skipped', reason }]);
  });

  it.each([
    [{ date: '' }, 'expected date, got an empty text'],
    [{ date: '01.05.2024' }, 'expected date as yyyy-MM-dd, got a text'],
    [{ pageviews: 'many' }, 'expected pageviews as a number, got a text'],
    [{ visitors: '-1' }, 'expected visitors as a number, got a text'],
    [{ pageviews: '100001' }, 'expected at most 100000 pageviews in a row'],
  ])('rejects %j with the reason', (change, reason) => {
    expect(readAll(plausible, [{ ...row, ...change }], yes)).toEqual([{ kind: 'unreadable', reason }]);
  });

  it('generated page views add up to the totals, and are the same in every run', () => {
    const records = [...plausibleRecords(1, 1000)];
    const results = checkRecords(plausible, records, yes);
    const counted = records.reduce((sum, record) => sum + Number(record['pageviews'] ?? 0), 0);
    expect(eventsOf(results)).toHaveLength(counted);
    expect(results.filter((result) => result.kind === 'unreadable')).toEqual([]);
  });

  it('anything but a row is rejected as unreadable, without an exception', () => {
    expect(new Set(readHostile(plausible, row))).toEqual(new Set(['unreadable']));
  });
});
