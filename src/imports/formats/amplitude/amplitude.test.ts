import { describe, expect, it } from 'vitest';
import { amplitude } from './amplitude.ts';
import { FormatOptionsError } from '../format.ts';
import { amplitudeRecords } from './records.fixture.ts';
import {
  checkRecords,
  eventFrom,
  eventsFrom,
  eventsOf,
  eventsOfExample,
  lastEventFrom,
  readAll,
  readHostile,
} from '../../../../test/support/format-check.ts';

const uuid = '7f3b2a10-5a6b-4c3d-9e8f-0123456789ab';
const event_time = '2021-03-04 05:06:07.089012';
const base = { uuid, event_type: 'Order Done', event_time, user_id: 'u1' };
const own = (record: object, options = {}): Record<string, unknown> => {
  const {
    $geoip_disable: _,
    $import_source: __,
    ...rest
  } = lastEventFrom(amplitude, { ...base, ...record }, options).properties;
  return rest;
};

describe('events of Amplitude', () => {
  it('converts the example of the format as documented', () => {
    expect(eventsOfExample(amplitude)).toEqual(amplitude.example.events);
  });

  it('keeps uuid, name and the time to the microsecond', () => {
    expect(eventFrom(amplitude, base)).toMatchObject({ uuid, event: 'Order Done', distinct_id: 'u1' });
    expect(eventFrom(amplitude, base).timestamp).toBe('2021-03-04T05:06:07.089012Z');
  });

  it.each<[object, string, string | undefined]>([
    [{ client_event_time: '2020-01-01 00:00:00' }, '2021-03-04T05:06:07.089012Z', undefined],
    [{ event_time: null, client_event_time: '2020-01-01 00:00:00' }, '2020-01-01T00:00:00.000Z', 'client_event_time'],
    [
      { event_time: 'soon', server_received_time: '2020-01-01 00:00:00.5' },
      '2020-01-01T00:00:00.500Z',
      'server_received_time',
    ],
  ])('the time is event_time, or else its substitutes: %j', (times, timestamp, from) => {
    const event = eventFrom(amplitude, { ...base, ...times });
    expect(event.timestamp).toBe(timestamp);
    expect(event.properties['$amplitude_time_from']).toBe(from);
  });

  it.each<[object, string]>([
    [{ device_id: 'd1' }, 'u1'],
    [{ user_id: null, device_id: 'd1' }, 'd1'],
    [{ user_id: 'null', device_id: 'd1' }, 'd1'],
    [{ user_id: '', device_id: null, amplitude_id: 77 }, '77'],
  ])('distinct_id of %j is user_id, device_id, amplitude_id', (ids, expected) => {
    expect(lastEventFrom(amplitude, { ...base, ...ids }).distinct_id).toBe(expected);
  });

  it.each([
    ['[Amplitude] Page Viewed', '$pageview'],
    ['[Amplitude] Element Clicked', '$autocapture'],
    ['$identify', '$set'],
    ['Viewed Page', 'Viewed Page'],
  ])('%s becomes %s', (event_type, event) => {
    expect(eventFrom(amplitude, { ...base, event_type }).event).toBe(event);
  });

  it('the name table skips the start of a session, but not the link that it creates', () => {
    const start = { ...base, event_type: 'session_start' };
    expect(readAll(amplitude, [start])).toEqual([
      { kind: 'skipped', reason: 'the name table skips events called session_start' },
    ]);
    expect(eventsFrom(amplitude, { ...start, device_id: 'd1' }).map(({ event }) => event)).toEqual(['$identify']);
  });

  it('distinguishes a browser and an app by the same columns', () => {
    const web = { platform: 'Web', os_name: 'Chrome', os_version: '120', device_type: 'Linux', language: 'German' };
    expect(own(web)).toMatchObject({
      $browser: 'Chrome',
      $browser_version: '120',
      $os: 'Linux',
      $device_type: 'Desktop',
      $browser_language: 'German',
    });
    const app = { os_name: 'ios', os_version: '17.1', device_type: 'Apple iPhone 12', version_name: '4.2' };
    const found = own(app);
    expect(found).toMatchObject({
      $os: 'iOS',
      $os_version: '17.1',
      $device_name: 'Apple iPhone 12',
      $device_type: 'Mobile',
      $app_version: '4.2',
    });
    expect(found).not.toHaveProperty('$browser');
    expect(own({ ...app, device_type: 'Apple iPad' })['$device_type']).toBe('Tablet');
  });

  it('a column never replaces a property of the event, and empty columns add nothing', () => {
    const found = own({ platform: 'Web', plan: {}, paying: null, event_properties: { platform: 'mine', none: null } });
    expect(found).toMatchObject({ platform: 'mine', amplitude_platform: 'Web', none: null });
    expect(Object.keys(found)).not.toEqual(expect.arrayContaining(['plan']));
    expect(Object.keys(found)).not.toEqual(expect.arrayContaining(['paying']));
  });

  it('all user properties reach the person, the initial ones once', () => {
    const user_properties = {
      seats: 3,
      initial_utm_source: 'mail',
      initial_referrer: 'EMPTY',
      initial_plan: 'free',
      gone: null,
    };
    expect(own({ user_properties })).toMatchObject({
      $set: { seats: 3 },
      $set_once: { $initial_utm_source: 'mail', initial_plan: 'free' },
    });
    expect(own({ user_properties })['$set_once']).not.toHaveProperty('$initial_referrer');
    expect(own({ user_properties }, { user_properties: 'no' })).not.toHaveProperty('$set');
  });

  it('session ids are UUIDs that contain the start, the same for the same device', () => {
    const session = (session_id: unknown, device_id: string) => own({ session_id, device_id })['$session_id'];
    const found = String(session(1_614_834_367_089, 'd1'));
    expect(found).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(found.replaceAll('-', '').slice(0, 12), 16)).toBe(1_614_834_367_089);
    expect(session('1614834367089', 'd1')).toBe(found);
    expect(session(1_614_834_367_089, 'd2')).not.toBe(found);
    expect(session(-1, 'd1')).toBeUndefined();
  });

  it('groups and their properties, at increasing times of a day', () => {
    const at = (hour: number, group_properties: object) => ({
      ...base,
      event_time: `2024-05-01 ${10 + hour}:00:00`,
      groups: { company: ['acme', 'other'] },
      group_properties,
    });
    const size = (hour: number, number: number) => at(hour, { company: { acme: { size: number } } });
    const records = [size(2, 1), size(1, 1), size(3, 2), size(4, 1), at(5, { company: { acme: {} } })];
    const events = eventsOf(readAll(amplitude, records));
    const said = events.filter(({ event }) => event === '$groupidentify');
    expect(said.map(({ properties }) => properties['$group_set'])).toEqual([{ size: 1 }, { size: 2 }, { size: 1 }]);
    // Of those with the same uuid the check keeps the latest.
    expect(said[2]?.uuid).toBe(said[0]?.uuid);
    expect(said[0]).toMatchObject({
      distinct_id: '$company_acme',
      properties: { $group_type: 'company', $group_key: 'acme', $groups: { company: 'acme' } },
    });
    expect(events.at(-1)?.properties).toMatchObject({
      $groups: { company: 'acme' },
      amplitude_groups: { company: ['acme', 'other'] },
    });
  });

  it('without a uuid, $insert_id of the device decides', () => {
    const id = (more: object) => lastEventFrom(amplitude, { ...base, uuid: null, ...more }).uuid;
    expect(id({ $insert_id: 'i1', device_id: 'd1' })).toBe(id({ $insert_id: 'i1', device_id: 'd1', city: 'Berlin' }));
    expect(id({ $insert_id: 'i1', device_id: 'd1' })).not.toBe(id({ $insert_id: 'i1', device_id: 'd2' }));
    expect(id({})).not.toBe(id({ city: 'Berlin' }));
  });
});

describe('arbitrary input', () => {
  const anyOfTimes = 'expected a time in event_time, client_event_time or server_received_time';
  it.each<[object, string]>([
    [{ event_type: null }, 'expected the name of the event in event_type, got nothing'],
    [{ event_time: null }, `${anyOfTimes}, got nothing`],
    [{ event_time: '2021-02-30 00:00:00' }, `${anyOfTimes}, got a text in event_time`],
    [{ event_time: null, client_event_time: 12 }, `${anyOfTimes}, got a time too far in the past in client_event_time`],
    [{ user_id: null }, 'expected an id in user_id, device_id or amplitude_id'],
  ])('%j is rejected as unreadable', (change, reason) => {
    expect(readAll(amplitude, [{ ...base, ...change }])).toEqual([{ kind: 'unreadable', reason }]);
  });

  it('an invalid option is rejected', () => {
    expect(() => amplitude.createReader({ identify: 'perhaps' }, amplitude.names)).toThrow(FormatOptionsError);
  });

  it.each([1, 2])('generated records (seed %d) give the same events again, without losses or duplicates', (seed) => {
    const results = checkRecords(amplitude, [...amplitudeRecords(seed, 2000)]);
    expect(results.filter(({ kind }) => kind === 'unreadable')).toEqual([]);
    const skipped = results.filter(({ kind }) => kind === 'skipped').length;
    expect(skipped).toBeGreaterThan(0);
    expect(skipped).toBeLessThan(800);
  });

  it('becomes an event or is rejected with a reason, and no property name does harm', () => {
    const [first] = amplitudeRecords(3, 1);
    expect(new Set(readHostile(amplitude, first ?? {}))).toEqual(new Set(['unreadable']));
  });
});

describe('operations in user_properties', () => {
  const record = {
    event_type: '$identify',
    event_time: '2024-01-01 00:00:04.000000',
    user_id: 'u1',
    uuid: '0198a1b2-0000-4000-8000-000000000005',
    user_properties: {
      $set: { plan: 'team' },
      $setOnce: { first: 'x' },
      $add: { n: 1 },
      $unset: { old: '-' },
      $append: { l: 1 },
    },
  };

  it('are applied, never stored as properties; those that depend on the previous value are noted', () => {
    const [result] = readAll(amplitude, [record]);
    expect(result).toMatchObject({
      kind: 'events',
      events: [{ event: '$set', properties: { $set: { plan: 'team' }, $set_once: { first: 'x' }, $unset: ['old'] } }],
      notes: [{ of: 'amplitude_operations', sample: '$add n' }],
    });
    expect(JSON.stringify(result?.kind === 'events' ? result.events : [])).not.toMatch(/\$add|\$append|\$setOnce/);
  });

  it('ingesting only a share of the events is noted as missing data', () => {
    const [whole, sampled] = readAll(amplitude, [
      { ...record, user_properties: {}, sample_rate: null },
      { ...record, user_properties: {}, sample_rate: 0.1 },
    ]);
    expect(whole?.notes).toBeUndefined();
    expect(sampled?.notes).toEqual([{ of: 'amplitude_sampled', sample: '0.1' }]);
  });
});
