import { describe, expect, it } from 'vitest';
import { FormatOptionsError } from '../format.ts';
import { ga4 } from './ga4.ts';
import {
  checkRecords,
  eventFrom,
  eventsFrom,
  eventsOfExample,
  readAll,
  readHostile,
} from '../../../../test/support/format-check.ts';
import { ga4Records } from './records.fixture.ts';

const row = {
  event_name: 'scroll',
  event_timestamp: 1_714_559_430_123_456,
  user_pseudo_id: 'd1',
  batch_event_index: 1,
};

describe('rows of Google Analytics 4', () => {
  it('converts the example of the format as documented', () => {
    expect(eventsOfExample(ga4)).toEqual(ga4.example.events);
  });

  it.each([
    ['page_view', '$pageview'],
    ['screen_view', '$screen'],
    ['user_engagement', '$autocapture'],
    ['purchase', 'purchase'],
  ])('%s becomes %s', (event_name, event) => {
    expect(eventFrom(ga4, { ...row, event_name }).event).toBe(event);
  });

  it.each(['session_start', 'first_visit'])('the name table skips %s, which a user can change', (event_name) => {
    expect(readAll(ga4, [{ ...row, event_name }])).toEqual([
      { kind: 'skipped', reason: `the name table skips events called ${event_name}` },
    ]);
    const read = ga4.createReader({}, { ...ga4.names, events: {} });
    expect(read({ ...row, event_name })).toMatchObject({ kind: 'events', events: [{ event: event_name }] });
  });

  it('reads parameters by type and splits up records', () => {
    const { properties } = eventFrom(ga4, {
      ...row,
      event_params: [
        { key: 'i', value: { string_value: null, int_value: '12' } },
        { key: 'huge', value: { int_value: '9223372036854775807' } },
        { key: 'd', value: { double_value: 0.5 } },
        { key: 'page_referrer', value: { string_value: 'https://a.example/' } },
        { key: 'none', value: { string_value: '(not set)' } },
        { key: '__proto__', value: { string_value: 'kept' } },
      ],
      traffic_source: { source: 'mail', medium: '(not set)' },
      collected_traffic_source: { manual_source: 'mail', gclid: 'g1' },
      ecommerce: { transaction_id: 'T1', total_item_quantity: 2 },
      items: [{ item_id: 'a', item_brand: '(not set)', item_params: [{ key: 'size', value: { int_value: 4 } }] }],
      event_dimensions: null,
    });
    expect(Object.getOwnPropertyDescriptor(properties, '__proto__')?.value).toBe('kept');
    expect(JSON.stringify(properties)).toContain('"huge":9223372036854775807,');
    expect({ ...properties }).toMatchObject({
      i: 12,
      d: 0.5,
      $referrer: 'https://a.example/',
      traffic_source_source: 'mail',
      utm_source: 'mail',
      gclid: 'g1',
      ecommerce_transaction_id: 'T1',
      ecommerce_total_item_quantity: 2,
      items: [{ item_id: 'a', size: 4 }],
    });
    expect(Object.keys(properties)).not.toContain('none');
    expect(Object.keys(properties)).not.toContain('traffic_source_medium');
  });

  it.each([
    [{ user_id: 'u1' }, 'u1', 2],
    [{ user_id: null }, 'd1', 1],
    [{ user_id: 'u1', user_pseudo_id: null }, 'u1', 1],
  ])('distinct_id is user_id or else user_pseudo_id: %j', (ids, distinctId, count) => {
    const events = eventsFrom(ga4, { ...row, ...ids });
    expect(events.map((event) => event.distinct_id)).toEqual(Array(count).fill(distinctId));
  });

  it('each pair of user and device is linked once', () => {
    const results = readAll(ga4, [
      { ...row, user_id: 'u1' },
      { ...row, user_id: 'u1', event_timestamp: 1_714_559_430_123_457 },
    ]);
    expect(results.map((result) => result.kind === 'events' && result.events.map((event) => event.event))).toEqual([
      ['$identify', 'scroll'],
      ['scroll'],
    ]);
  });

  it('a row without consent is skipped, or imported without a person on request', () => {
    const anonymous = { ...row, user_pseudo_id: null };
    expect(readAll(ga4, [anonymous])[0]).toMatchObject({ kind: 'skipped' });
    const event = eventFrom(ga4, anonymous, { without_user: 'anonymous' });
    expect(event).toMatchObject({ distinct_id: event.uuid, properties: { $process_person_profile: false } });
    expect(() => ga4.createReader({ without_user: 'guess' }, ga4.names)).toThrow(FormatOptionsError);
  });

  it.each([
    [{ event_name: undefined }, 'expected event_name as a text, got nothing'],
    [{ event_timestamp: 'soon' }, 'expected event_timestamp in microseconds since 1970, got a text'],
    [{ event_timestamp: '2024-13-01' }, 'expected event_timestamp in microseconds since 1970, got a text'],
    [{ event_timestamp: 1_714_559_430 }, 'expected event_timestamp in microseconds since 1970, got a number'],
  ])('rejects %j with the reason', (change, reason) => {
    expect(readAll(ga4, [{ ...row, ...change }])).toEqual([{ kind: 'unreadable', reason }]);
  });

  it('a row that Google amended keeps its uuid; rows without a position in the batch are distinguished by their parameters', () => {
    const uuid = (change: object) => eventFrom(ga4, { ...row, ...change }).uuid;
    expect(uuid({ traffic_source: { source: 'late' } })).toBe(uuid({}));
    expect(uuid({ batch_event_index: 2 })).not.toBe(uuid({}));
    const old = { ...row, batch_event_index: null };
    const parameter = (value: string) => ({ ...old, event_params: [{ key: 'k', value: { string_value: value } }] });
    const results = checkRecords(ga4, [parameter('a'), parameter('b'), parameter('a')]);
    expect(results.every((result) => result.kind === 'events')).toBe(true);
  });

  it.each([
    [1, true],
    [2, false],
  ])('generated rows (seed %d) give the same events again, without losses or duplicates', (seed, newRows) => {
    const results = checkRecords(ga4, [...ga4Records(seed, 2000, 1, newRows)]);
    expect(results.filter((result) => result.kind === 'unreadable')).toEqual([]);
  });

  it('anything but a row is rejected as unreadable, without an exception', () => {
    const [record = {}] = ga4Records(3, 1);
    expect(new Set(readHostile(ga4, record))).toEqual(new Set(['unreadable']));
  });
});
