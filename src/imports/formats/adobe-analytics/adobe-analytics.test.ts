import { describe, expect, it } from 'vitest';
import { adobeAnalytics } from './adobe-analytics.ts';
import {
  checkRecords,
  eventFrom,
  eventsFrom,
  eventsOf,
  eventsOfExample,
  readAll,
  readHostile,
} from '../../../../test/support/format-check.ts';
import { adobeColumns, adobeRecords, feedLine } from './records.fixture.ts';

const row = {
  hit_time_gmt: '1714558830',
  hitid_high: '3057065293683690001',
  hitid_low: '6851172488903270002',
  post_visid_high: '2791471528899189638',
  post_visid_low: '791228704714081521',
  post_page_event: '0',
};
const columns = adobeColumns.join('\t');

describe('hits of an Adobe Analytics data feed', () => {
  it('converts the example of the format as documented', () => {
    expect(eventsOfExample(adobeAnalytics)).toEqual(adobeAnalytics.example.events);
  });

  it('a line without names and a row with them are the same hit', () => {
    const records = [...adobeRecords(3, 300)];
    const fromLines = readAll(adobeAnalytics, records.map(feedLine), { columns });
    expect(fromLines).toEqual(readAll(adobeAnalytics, records));
    expect(eventsOf(fromLines)).toHaveLength(300);
  });

  it('tabs, line breaks and backslashes in a cell are restored', () => {
    const [record = {}] = adobeRecords(3, 1);
    const escaped = { ...record, post_pagename: 'a\tb\\c\nd\\', mcvisid: 'end\\' };
    const [result] = readAll(adobeAnalytics, [feedLine(escaped)], { columns });
    expect(result).toMatchObject({ events: [{ properties: { pagename: 'a\tb\\c\nd\\', mcvisid: 'end\\' } }] });
  });

  it('a character escaped by a caret is part of the product', () => {
    const list = 'cat;a^;b^,c;2;10.00;event1=3|event2=1.50;evar2=x^=y^^|evar3=z,;d^^';
    const event = eventFrom(adobeAnalytics, { ...row, post_product_list: list });
    expect(event.properties['products']).toEqual([
      {
        category: 'cat',
        product: 'a;b,c',
        quantity: 2,
        revenue: 10,
        events: { event1: 3, event2: 1.5 },
        evars: { evar2: 'x=y^', evar3: 'z' },
      },
      { product: 'd^' },
    ]);
  });

  it('the values of a list variable become a list, with escaped characters restored', () => {
    const event = eventFrom(adobeAnalytics, { ...row, post_mvvar1: 'a^,b,c' });
    expect(event.properties['mvvar1']).toEqual(['a,b', 'c']);
  });

  it('the value that Adobe processed replaces the value sent, even if it is empty', () => {
    const { properties } = eventFrom(adobeAnalytics, {
      ...row,
      evar1: 'sent',
      post_evar1: '',
      evar2: 'x',
      post_evar2: 'y',
    });
    expect(properties).not.toHaveProperty('evar1');
    expect(properties).toMatchObject({ evar2: 'y' });
  });

  it('ids of visitors and hits keep every digit', () => {
    const event = eventFrom(adobeAnalytics, row);
    expect(event.distinct_id).toBe('2791471528899189638_791228704714081521');
    const other = eventFrom(adobeAnalytics, { ...row, hitid_low: '6851172488903270003' });
    expect(other.uuid).not.toBe(event.uuid);
    expect(eventFrom(adobeAnalytics, { ...row, browser: 'late' }).uuid).toBe(event.uuid);
  });

  it.each([
    ['0', '$pageview'],
    ['100', 'custom_link'],
    ['101', 'download_link'],
    ['102', 'exit_link'],
    ['70', 'hit_70'],
  ])('page_event %s is %s', (post_page_event, event) => {
    const found = eventFrom(adobeAnalytics, { ...row, post_page_event, post_page_event_var2: 'nav' });
    expect(found.event).toBe(event);
    expect(found.properties).toMatchObject({ [post_page_event === '0' ? 'page_event_var2' : 'link_name']: 'nav' });
  });

  it('events of the hit have their names, including custom ones of the suite; a repeated purchase is dropped', () => {
    const list = { ...row, post_event_list: '1,2,100,200,20100=7,12345' };
    const names = (change: object, options = {}) =>
      eventFrom(adobeAnalytics, { ...list, ...change }, options).properties['success_events'];
    expect(names({})).toEqual(['Purchase', 'Product View', 'Custom Event 1', 'Custom Event 101=7']);
    expect(names({ duplicate_purchase: '1' })).toEqual(['Product View', 'Custom Event 1', 'Custom Event 101=7']);
    expect(names({}, { events: '200\tSigned Up\n' })).toContain('Signed Up');
  });

  it('events of the hit can become separate events with separate ids', () => {
    const list = { ...row, post_event_list: '1,201=2.5' };
    const events = eventsFrom(adobeAnalytics, list, { success_events: 'events' });
    expect(events.map(({ event }) => event)).toEqual(['$pageview', 'Purchase', 'Custom Event 2']);
    expect(events[2]?.properties).toMatchObject({ value: 2.5 });
    expect(new Set(events.map(({ uuid }) => uuid)).size).toBe(3);
  });

  it('time: the column that the suite reports by, then the hit, then the local time in its zone', () => {
    const time = (change: object, options = {}) => eventFrom(adobeAnalytics, { ...row, ...change }, options).timestamp;
    expect(time({ post_cust_hit_time_gmt: '1714558000' })).toBe('2024-05-01T10:06:40.000Z');
    expect(time({ post_cust_hit_time_gmt: '0' })).toBe('2024-05-01T10:20:30.000Z');
    const clock = { hit_time_gmt: '', date_time: '2024-05-01 12:20:30' };
    expect(time(clock, { time_zone: 'Europe/Berlin' })).toBe('2024-05-01T10:20:30.000Z');
  });

  it.each([
    [{ exclude_hit: '4' }, 'exclude_hit 4: a hit that Adobe does not count'],
    [{ hit_source: '5' }, 'hit_source 5: uploaded data, not a hit'],
  ])('skips %j and counts it by reason', (change, reason) => {
    expect(readAll(adobeAnalytics, [{ ...row, ...change }])).toEqual([{ kind: 'skipped', reason }]);
  });

  it.each<[string, unknown, Record<string, string>, string]>([
    ['a line without names', 'a\tb', {}, 'expected the names of the columns in the format option columns'],
    ['a short line', 'a\tb', { columns }, `expected ${adobeColumns.length} columns separated by tabs, got 2`],
    ['a line taken for names', { '1': 2 }, { columns }, 'expected a line of the feed or a row with its columns'],
    [
      'a placeholder visitor',
      { ...row, post_visid_high: '0', post_visid_low: '0' },
      {},
      'expected visid_high and visid_low',
    ],
    [
      'no time',
      { ...row, hit_time_gmt: '0' },
      {},
      'expected a time in hit_time_gmt, cust_hit_time_gmt or date_time, got a time too far in the past in hit_time_gmt',
    ],
  ])('%s is rejected with the reason', (_name, record, options, reason) => {
    const [result] = readAll(adobeAnalytics, [record], options);
    expect(result).toMatchObject({ kind: 'unreadable', reason: expect.stringContaining(reason) });
  });

  it.each([1, 2])('generated hits (seed %d) give the same events again, without losses or duplicates', (seed) => {
    const results = checkRecords(adobeAnalytics, [...adobeRecords(seed, 2000)], { user_id: 'evar1' });
    expect(results.filter((result) => result.kind !== 'events')).toEqual([]);
  });

  it('anything but a row is rejected as unreadable, without an exception', () => {
    const [record = {}] = adobeRecords(3, 1);
    expect(new Set(readHostile(adobeAnalytics, record))).toEqual(new Set(['unreadable']));
  });
});
