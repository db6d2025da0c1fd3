import { describe, expect, it } from 'vitest';
import { heap } from './heap.ts';
import {
  checkRecords,
  eventFrom,
  eventsFrom,
  eventsOfExample,
  readAll,
  readHostile,
} from '../../../../test/support/format-check.ts';
import { heapRecords } from './records.fixture.ts';

const row = { event_id: '71', user_id: '481', time: '2024-05-01 10:20:30', event_table_name: 'order_done' };

describe('rows of Heap', () => {
  it('converts the example of the format as documented', () => {
    expect(eventsOfExample(heap)).toEqual(heap.example.events);
  });

  it.each([
    [{}, {}, 'order_done'],
    [{ event_table_name: 'pageviews' }, {}, '$pageview'],
    [{ event_table_name: '', type: 'pageview' }, {}, '$pageview'],
    [{ event_table_name: '', event_name: 'Order' }, {}, 'Order'],
    [{ event_table_name: '' }, { event: 'signed_up' }, 'signed_up'],
    [{}, { event: 'signed_up' }, 'order_done'],
  ])('%j with options %j becomes %s', (change, options, event) => {
    expect(eventFrom(heap, { ...row, ...change }, options).event).toBe(event);
  });

  it.each([
    ['Mac OS X 10.15.7', 'Mac OS X', '10.15.7'],
    ['Windows 10', 'Windows', '10'],
    ['Linux', 'Linux', undefined],
  ])('the platform %s is %s, version %s', (platform, name, version) => {
    const { properties } = eventFrom(heap, { ...row, platform });
    expect([properties['$os'], properties['$os_version']]).toEqual([name, version]);
  });

  it.each([
    [{ domain: 'a.example', path: '/x', query: 'q=1', hash: '#h' }, 'https://a.example/x?q=1#h'],
    [{ landing_page: 'https://a.example/first' }, 'https://a.example/first'],
  ])('the page of %j is %s', (page, url) => {
    expect(eventFrom(heap, { ...row, ...page }).properties).toMatchObject({ $current_url: url, $host: 'a.example' });
  });

  it('reads a line of the JSON export with its user in a pair and its properties in an object', () => {
    const line = { id: '(2008543124,4810060720600030)', type: 'click', time: 1_714_558_830_123, properties: { a: 1 } };
    expect(eventFrom(heap, line)).toMatchObject({
      event: 'click',
      distinct_id: '4810060720600030',
      timestamp: '2024-05-01T10:20:30.123Z',
      properties: { a: 1 },
    });
    const [first] = eventsFrom(heap, { ...line, identity: 'u1' });
    expect(first).toMatchObject({ event: '$identify', distinct_id: 'u1' });
  });

  it('a user has its current and initial properties, at the time of the change', () => {
    const user = {
      user_id: '481',
      email: 'a@b.example',
      joindate: '2024-04-01',
      last_modified: '2024-05-01 00:00:00',
      lastseen: 'Invalid date',
      initial_platform: 'iOS 17.1',
      initial_utm_source: 'mail',
      properties: '{"plan":"pro"}',
    };
    expect(eventFrom(heap, user)).toMatchObject({
      event: '$set',
      distinct_id: '481',
      timestamp: '2024-05-01T00:00:00.000Z',
      properties: {
        $set: { email: 'a@b.example', plan: 'pro', last_modified: '2024-05-01T00:00:00.000Z' },
        $set_once: {
          joindate: '2024-04-01T00:00:00.000Z',
          $initial_os: 'iOS',
          $initial_os_version: '17.1',
          $initial_utm_source: 'mail',
        },
      },
    });
  });

  it('merged users are linked, each pair once', () => {
    const migration = { from_user_id: 1, to_user_id: 2, time: 1_714_558_830_123 };
    const [first, second] = readAll(heap, [migration, migration]);
    expect(first).toMatchObject({
      kind: 'events',
      events: [{ event: '$identify', distinct_id: '2', properties: { $anon_distinct_id: '1' } }],
    });
    expect(second).toEqual({ kind: 'events', events: [] });
  });

  it('an event in two tables is two events; without an id, the uuid is derived from the content', () => {
    const results = checkRecords(heap, [
      row,
      { ...row, event_table_name: 'pageviews' },
      { ...row, event_id: '' },
      { ...row, event_id: '' },
    ]);
    expect(results.map(({ kind }) => kind)).toEqual(['events', 'events', 'events', 'events']);
  });

  it.each([
    [{ event_table_name: '' }, 'expected the name of the event in a column or in the option event'],
    [{ time: 'soon' }, 'expected time as ISO 8601 or milliseconds, got a text'],
    [{ user_id: '' }, 'expected user_id, id or identity, got none'],
    [{ from_user_id: '', to_user_id: '2' }, 'expected an id in from_user_id, got an empty text'],
    [{ time: '', joindate: 'Invalid date' }, 'expected a time in last_modified or joindate, got a text in joindate'],
  ])('rejects %j with the reason', (change, reason) => {
    expect(readAll(heap, [{ ...row, ...change }])).toEqual([{ kind: 'unreadable', reason }]);
  });

  it.each([1, 2])('generated records (seed %d) give the same events again, without losses or duplicates', (seed) => {
    const results = checkRecords(heap, [...heapRecords(seed, 2000)]);
    expect(results.filter((result) => result.kind !== 'events')).toEqual([]);
  });

  it('anything but a row is rejected as unreadable, without an exception', () => {
    expect(new Set(readHostile(heap, { ...row, platform: '', domain: 'a', path: '/', properties: {} }))).toEqual(
      new Set(['unreadable']),
    );
    const user = { user_id: '1', identity: 'u', joindate: 1, last_modified: 1_714_558_830_123, properties: '{}' };
    expect(new Set(readHostile(heap, user))).toEqual(new Set(['unreadable']));
  });
});
