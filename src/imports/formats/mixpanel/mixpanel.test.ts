import { describe, expect, it } from 'vitest';
import { FormatOptionsError } from '../format.ts';
import { mixpanel } from './mixpanel.ts';
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
import { mixpanelRecords } from './records.fixture.ts';

const time = 1_609_459_200;
const properties = { time, distinct_id: 'u1', $insert_id: 'evt-1' };
const record = (more: object, event = 'Signed Up') => ({ event, properties: { ...properties, ...more } });

describe('events of Mixpanel', () => {
  it('converts the example of the format as documented', () => {
    expect(eventsOfExample(mixpanel)).toEqual(mixpanel.example.events);
  });

  it('derives the uuid from $insert_id as PostHog’s importer does', () => {
    expect(eventFrom(mixpanel, record({})).uuid).toBe('b1e8294d-c1b5-55f9-bb71-a01a10983447');
  });

  it('without $insert_id the uuid is derived from the content, and a repetition is a separate event', () => {
    const bare = { event: 'x', properties: { time, distinct_id: 'u1' } };
    const turned = { properties: { distinct_id: 'u1', time }, event: 'x' };
    const uuids = eventsOf(readAll(mixpanel, [bare, turned, bare])).map(({ uuid }) => uuid);
    expect(new Set(uuids).size).toBe(3);
    expect(eventFrom(mixpanel, turned).uuid).toBe(uuids[0]);
  });

  it.each<[string, object, string]>([
    ['a plain id', {}, 'u1'],
    ['a number', { distinct_id: 42 }, '42'],
    ['a device with the id from before', { distinct_id: '$device:d1', $distinct_id_before_identity: 'b1' }, 'b1'],
    ['a device of a known user', { distinct_id: '$device:d1', $user_id: 'u2' }, 'u2'],
    ['a device', { distinct_id: '$device:d1' }, 'd1'],
    ['an id of iOS', { distinct_id: 'AB-12', $distinct_id_before_identity: 'b1' }, 'b1'],
    ['an id of iOS and nothing else', { distinct_id: 'AB-12' }, 'AB-12'],
    ['digits only', { distinct_id: '12-34', $distinct_id_before_identity: 'b1' }, '12-34'],
    ['none, but a user', { distinct_id: undefined, $user_id: 'u2', $device_id: 'd1' }, 'u2'],
    ['none, but a device', { distinct_id: '', $device_id: 'd1' }, 'd1'],
    ['a placeholder id', { distinct_id: 'null', $user_id: 'u2' }, 'u2'],
  ])('distinct_id of %s', (_name, ids, expected) => {
    expect(lastEventFrom(mixpanel, record(ids)).distinct_id).toBe(expected);
  });

  it('an event with a placeholder id is kept and creates no person', () => {
    const event = eventFrom(mixpanel, record({ distinct_id: 'undefined', $os: 'iOS' }));
    expect(event).toMatchObject({ distinct_id: 'undefined', properties: { $process_person_profile: false } });
    expect(event.properties).not.toHaveProperty('$set');
  });

  it.each<[unknown, string, string]>([
    [time, 'UTC', '2021-01-01T00:00:00.000Z'],
    [time + 0.25, 'UTC', '2021-01-01T00:00:00.250Z'],
    [time * 1000 + 7, 'UTC', '2021-01-01T00:00:00.007Z'],
    [String(time), 'UTC', '2021-01-01T00:00:00.000Z'],
    [time, 'America/Los_Angeles', '2021-01-01T08:00:00.000Z'],
    [time + 180 * 86_400, 'America/Los_Angeles', '2021-06-30T07:00:00.000Z'],
    [time, '+05:30', '2020-12-31T18:30:00.000Z'],
  ])('time %s in %s', (value, time_zone, expected) => {
    expect(eventFrom(mixpanel, record({ time: value }), { time_zone }).timestamp).toBe(expected);
  });

  it('maps names, places and properties of the person', () => {
    const source = { $city: 'Berlin', $region: 'Berlin', mp_country_code: 'DE', mp_lib: 'web', $initial_referrer: 'x' };
    const event = eventFrom(mixpanel, record({ ...source, $model: 'P7', $mp_api_endpoint: 'x' }, '$mp_web_page_view'));
    expect(event.event).toBe('$pageview');
    const geo = {
      $geoip_city_name: 'Berlin',
      $geoip_subdivision_1_name: 'Berlin',
      $geoip_country_code: 'DE',
      $geoip_country_name: 'Germany',
    };
    expect(event.properties).toEqual({
      ...geo,
      $lib: 'web',
      $initial_referrer: 'x',
      $device_model: 'P7',
      $set: geo,
      $set_once: { $initial_referrer: 'x' },
      $geoip_disable: true,
      $import_source: 'mixpanel',
    });
  });

  it('reads the same event from a flat row of the Data Pipelines', () => {
    const row = { event_name: 'Signed Up', time, distinct_id: 'u1', insert_id: 'evt-1', properties: { plan: 'pro' } };
    expect(eventFrom(mixpanel, row)).toEqual(eventFrom(mixpanel, record({ plan: 'pro' })));
    const pair = { ...row, user_id: 'u1', device_id: 'd1' };
    expect(eventsFrom(mixpanel, pair)).toEqual(
      eventsFrom(mixpanel, record({ plan: 'pro', $user_id: 'u1', $device_id: 'd1' })),
    );
  });

  it('assigns groups by the properties that contain their keys', () => {
    const given = record({ company_id: 7, team: ['a', 'b'], other: null });
    const event = eventFrom(mixpanel, given, { groups: 'company_id:company, team,other' });
    expect(event.properties).toMatchObject({ $groups: { company: '7', team: 'a' }, team: ['a', 'b'] });
  });
});

describe('identity', () => {
  it('each pair of user and device is linked once, or not at all if disabled', () => {
    const pair = { $user_id: 'u1', $device_id: '$device:d1' };
    const records = [record(pair), record({ ...pair, time: time + 9 })];
    const events = eventsOf(readAll(mixpanel, records));
    expect(events.map(({ event }) => event)).toEqual(['$identify', 'Signed Up', 'Signed Up']);
    expect(events[0]).toMatchObject({ distinct_id: 'u1', properties: { $anon_distinct_id: 'd1' } });
    expect(eventsFrom(mixpanel, records[1])[0]?.uuid).toBe(events[0]?.uuid);
    expect(eventsOf(readAll(mixpanel, records, { identify: 'no' }))).toHaveLength(2);
  });

  it.each<[string, object, string, string, object]>([
    ['$identify', { $identified_id: 'u1', $anon_id: 'a1' }, '$identify', 'u1', { $anon_distinct_id: 'a1' }],
    ['$create_alias', { alias: '$device:d1' }, '$create_alias', 'u1', { alias: 'd1' }],
    ['$merge', { $distinct_ids: ['u1', 'u2'] }, '$merge_dangerously', 'u1', { alias: 'u2' }],
  ])('%s', (name, source, event, distinctId, expected) => {
    const found = eventFrom(mixpanel, record(source, name));
    expect(found).toMatchObject({ event, distinct_id: distinctId, properties: expected });
    expect(found.uuid).toBe('b1e8294d-c1b5-55f9-bb71-a01a10983447');
  });

  it('$merge of three ids gives two links with separate ids', () => {
    const events = eventsFrom(mixpanel, record({ $distinct_ids: ['a', 'b', 'c'] }, '$merge'));
    expect(events.map((each) => each.properties['alias'])).toEqual(['b', 'c']);
    expect(new Set(events.map(({ uuid }) => uuid)).size).toBe(2);
  });

  it.each<[string, object, string]>([
    ['$create_alias', { alias: 'null' }, '$create_alias with a placeholder id'],
    ['$merge', { $distinct_ids: ['u1', 'u1'] }, '$merge_dangerously of an id with itself'],
  ])('%s of %j is skipped', (name, source, reason) => {
    expect(readAll(mixpanel, [record(source, name)])).toEqual([{ kind: 'skipped', reason }]);
  });

  it('$identify without its ids is an event like any other', () => {
    expect(eventFrom(mixpanel, record({}, '$identify'))).toMatchObject({ event: '$identify', distinct_id: 'u1' });
  });
});

describe('profiles', () => {
  const values = { $last_seen: '2021-06-01T12:00:00', $email: 'a@b.example', plan: 'pro' };

  it('of users become $set at their own time', () => {
    const event = eventFrom(mixpanel, { $distinct_id: '$device:d1', $properties: values });
    const set = { $last_seen: '2021-06-01T12:00:00', email: 'a@b.example', plan: 'pro' };
    expect(event).toMatchObject({ event: '$set', distinct_id: 'd1', timestamp: '2021-06-01T12:00:00.000Z' });
    expect(event.properties['$set']).toEqual(set);
    const flat = eventFrom(mixpanel, { $distinct_id: 'd1', ...values }, { time_zone: 'Europe/Berlin' });
    expect(flat).toMatchObject({ uuid: event.uuid, timestamp: '2021-06-01T10:00:00.000Z' });
  });

  it('of groups become $groupidentify', () => {
    const expected = { $group_type: 'company', $group_key: 'acme', $group_set: { size: 3 } };
    const named = { $group_key: 'company', $group_id: 'acme', $properties: { $created: '2021-01-01', size: 3 } };
    expect(eventFrom(mixpanel, named).properties).toMatchObject({ ...expected, $group_set: { size: 3 } });
    const unnamed = { $distinct_id: 'acme', $properties: { $created: '2021-01-01', size: 3 } };
    expect(eventFrom(mixpanel, unnamed, { group_type: 'company' })).toEqual(eventFrom(mixpanel, named));
  });

  it('without a time need the option', () => {
    const profile = { $distinct_id: 'u1', $properties: { plan: 'pro' } };
    const reason = 'expected a time in $last_seen or $created, or the option profile_time, got nothing';
    expect(readAll(mixpanel, [profile])).toEqual([{ kind: 'unreadable', reason }]);
    const event = eventFrom(mixpanel, profile, { profile_time: '2024-05-01' });
    expect(event.timestamp).toBe('2024-05-01T00:00:00.000Z');
  });
});

describe('arbitrary input', () => {
  it.each<[string, unknown, string]>([
    ['no object', 7, 'expected a JSON object, got a number'],
    ['no name', { properties }, 'expected the name of the event in "event", got nothing'],
    ['no time', record({ time: 'soon' }), 'expected seconds or milliseconds since 1970 in properties.time, got a text'],
    [
      'nothing for a time',
      record({ time: null }),
      'expected seconds or milliseconds since 1970 in properties.time, got nothing',
    ],
    [
      'seconds in the year 3000',
      record({ time: 32_503_680_000 }),
      'expected seconds or milliseconds since 1970 in properties.time, got a time too far in the future',
    ],
    [
      'a date in the year 3000',
      record({ time: '3000-01-01T00:00:00' }),
      'expected seconds or milliseconds since 1970 in properties.time, got a time too far in the future',
    ],
    ['no id', record({ distinct_id: null }), 'expected an id in distinct_id, $user_id or $device_id'],
    ['half an alias', record({ alias: 5.5 }, '$create_alias'), '$create_alias: expected alias, got a number'],
  ])('%s is rejected as unreadable', (_name, source, reason) => {
    expect(readAll(mixpanel, [source])).toEqual([{ kind: 'unreadable', reason }]);
  });

  it.each<[string, Record<string, string>]>([
    ['time_zone: expected a time zone', { time_zone: 'Nowhere/At All' }],
    ['profile_time: expected a time', { profile_time: 'soon' }],
    ['identify', { identify: 'perhaps' }],
    ['expected an option of the format mixpanel', { zone: 'UTC' }],
  ])('an invalid option is rejected: %s', (message, options) => {
    expect(() => mixpanel.createReader(options, mixpanel.names)).toThrow(FormatOptionsError);
    expect(() => mixpanel.createReader(options, mixpanel.names)).toThrow(message);
  });

  it.each([1, 2])('generated records (seed %d) give the same events again, without losses or duplicates', (seed) => {
    const results = checkRecords(mixpanel, [...mixpanelRecords(seed, 2000)]);
    expect(results.filter(({ kind }) => kind !== 'events')).toEqual([]);
  });

  it('becomes an event or is rejected with a reason, and no property name does harm', () => {
    const [first] = mixpanelRecords(3, 1);
    expect(new Set(readHostile(mixpanel, first ?? {}))).toEqual(new Set(['unreadable']));
    const inside = readHostile(
      {
        ...mixpanel,
        createReader: (options, names) => {
          const read = mixpanel.createReader(options, names);
          return (source) => read({ event: 'x', properties: source });
        },
      },
      { ...properties, $user_id: 'u', $device_id: 'd' },
    );
    expect(new Set(inside)).toEqual(new Set(['unreadable']));
  });

  it('a name table renames and drops, but no value replaces another', () => {
    const names = {
      events: { Bot: null, 'Signed Up': 'signed up' },
      properties: { a: 'b', secret: null },
      person_properties: {},
    };
    const read = mixpanel.createReader({}, names);
    expect(read(record({}, 'Bot'))).toMatchObject({ kind: 'skipped' });
    const result = read(record({ a: 1, b: 2, secret: 3, $city: 'x' }));
    expect(result).toMatchObject({
      kind: 'events',
      events: [{ event: 'signed up', properties: { a: 1, b: 2, $city: 'x' } }],
    });
    expect(JSON.stringify(result)).not.toContain('secret');
  });
});
