import { describe, expect, it } from 'vitest';
import { statsig } from './statsig.ts';
import {
  checkRecords,
  eventFrom,
  eventsFrom,
  eventsOfExample,
  readAll,
  readHostile,
} from '../../../../test/support/format-check.ts';
import { statsigRecords } from './records.fixture.ts';

const record = { name: 'Order Done', timestamp: 1_714_558_830_123, deviceID: 'd1', value: 7 };

describe('events of Statsig', () => {
  it('converts the example of the format as documented', () => {
    expect(eventsOfExample(statsig)).toEqual(statsig.example.events);
  });

  it.each([
    ['auto_capture::page_view', '$pageview'],
    ['auto_capture::page_view_end', '$pageleave'],
    ['auto_capture::click', '$autocapture'],
    ['Order Done', 'Order Done'],
  ])('%s becomes %s', (name, event) => {
    expect(eventFrom(statsig, { ...record, name }).event).toBe(event);
    expect(eventFrom(statsig, { ...record, name: undefined, event_name: name }).event).toBe(event);
  });

  it('an event of a webhook has the id of its timeUUID', () => {
    const timeUUID = '7a1c2b40-8ab5-11ec-a8a3-0242ac120002';
    const event = eventFrom(statsig, { eventName: 'Order Done', userID: 'u1', timestamp: 1_644_520_566_967, timeUUID });
    expect(event).toMatchObject({ uuid: timeUUID, event: 'Order Done', timestamp: '2022-02-10T19:16:06.967Z' });
    expect(event.properties).not.toHaveProperty('timeUUID');
  });

  it('the name table skips the start of a session', () => {
    expect(readAll(statsig, [{ ...record, name: 'auto_capture::session_start' }])).toEqual([
      { kind: 'skipped', reason: 'the name table skips events called auto_capture::session_start' },
    ]);
  });

  it('values nearer to the event take precedence, and JSON in texts is parsed', () => {
    const { properties } = eventFrom(statsig, {
      ...record,
      device_metadata: '{"os":"iOS","locale":"de"}',
      os: 'Android',
      trimmed_data: '{"title":"A"}',
      metadata: { title: 'B', price: 2 },
      sessionID: 's1',
      custom: [1],
    });
    expect(properties).toMatchObject({
      $os: 'Android',
      $locale: 'de',
      title: 'B',
      price: 2,
      $session_id: 's1',
      $device_id: 'd1',
      custom: [1],
      value: 7,
    });
    expect(eventFrom(statsig, { ...record, metadata: '{broken' }).properties).toMatchObject({ metadata: '{broken' });
  });

  it.each([
    [{ userID: 'u1' }, ['$identify', 'Order Done'], 'u1'],
    [{ user_id: 'u1', deviceID: '' }, ['Order Done'], 'u1'],
    [{ deviceID: undefined, stableID: 's1' }, ['Order Done'], 's1'],
    [{ userID: 'null' }, ['Order Done'], 'd1'],
  ])('%j gives %j of %s', (ids, events, distinctId) => {
    const found = eventsFrom(statsig, { ...record, ...ids });
    expect(found.map(({ event }) => event)).toEqual(events);
    expect(new Set(found.map((event) => event.distinct_id))).toEqual(new Set([distinctId]));
  });

  it.each([
    [1_714_558_830_123, '2024-05-01T10:20:30.123Z'],
    ['1714558830123', '2024-05-01T10:20:30.123Z'],
    ['2024-05-01T10:20:30.123456Z', '2024-05-01T10:20:30.123456Z'],
  ])('the time %s is %s', (timestamp, time) => {
    expect(eventFrom(statsig, { ...record, timestamp }).timestamp).toBe(time);
  });

  it('a page of the console gives all of its events, or is rejected with the position of the faulty one', () => {
    const page = { data: [record, { ...record, name: 'auto_capture::session_start' }, { ...record, id: 'e2' }] };
    expect(eventsFrom(statsig, page)).toHaveLength(2);
    const [broken, empty, nothing] = readAll(statsig, [
      { data: [record, { ...record, timestamp: null }] },
      { data: [] },
      { data: [7] },
    ]);
    expect(broken).toEqual({
      kind: 'unreadable',
      reason: 'data[1]: expected timestamp in milliseconds since 1970, got nothing',
    });
    expect(empty).toEqual({ kind: 'skipped', reason: 'a page without events' });
    expect(nothing).toEqual({ kind: 'unreadable', reason: 'data[0]: expected an object, got a number' });
  });

  it('a rejected page has no effect on the events after it', () => {
    const pair = { ...record, userID: 'u1' };
    const read = statsig.createReader({}, statsig.names);
    expect(read({ data: [pair, 7] }).kind).toBe('unreadable');
    expect(read(pair)).toEqual(readAll(statsig, [pair])[0]);
  });

  it('the uuid is the id of the event or else derived from the content', () => {
    const id = 'AAAAAAAA-0000-4000-8000-000000000001';
    expect(eventFrom(statsig, { ...record, id }).uuid).toBe(id.toLowerCase());
    checkRecords(statsig, [record, record, { ...record, id: 'e1' }]);
  });

  it.each([
    [{ name: '' }, 'expected the name of the event in name or event_name, got neither'],
    [{ timestamp: 1_714_558_830 }, 'expected timestamp in milliseconds since 1970, got a number'],
    [{ deviceID: 'unknown' }, 'expected userID, user_id, deviceID or device_id, got none'],
  ])('rejects %j with the reason', (change, reason) => {
    expect(readAll(statsig, [{ ...record, ...change }])).toEqual([{ kind: 'unreadable', reason }]);
  });

  it.each([1, 2])('generated records (seed %d) give the same events again, without losses or duplicates', (seed) => {
    const results = checkRecords(statsig, [...statsigRecords(seed, 2000)]);
    expect(results.filter((result) => result.kind === 'unreadable')).toEqual([]);
  });

  it('anything but an event is rejected as unreadable, without an exception', () => {
    const kinds = readHostile(statsig, { ...record, userID: 'u1', metadata: {}, data: [record] });
    expect(new Set(kinds)).toEqual(new Set(['unreadable']));
  });
});
