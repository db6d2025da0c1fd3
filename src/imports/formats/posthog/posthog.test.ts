import { describe, expect, it } from 'vitest';
import { posthog } from './posthog.ts';
import {
  checkRecords,
  eventFrom,
  eventsFrom,
  eventsOfExample,
  readAll,
  readHostile,
} from '../../../../test/support/format-check.ts';
import { posthogRecords } from './records.fixture.ts';

const uuid = '018f3a2b-4c5d-7e6f-8a9b-0c1d2e3f4a5b';
const timestamp = '2024-05-01T10:20:30.123456Z';
const base = { uuid, event: 'x', distinct_id: 'd1', timestamp, properties: { a: 1 } };
const marks = { $geoip_disable: true, $import_source: 'posthog' };

describe('events of PostHog', () => {
  it('converts the example of the format as documented', () => {
    expect(eventsOfExample(posthog)).toEqual(posthog.example.events);
  });

  it('are unchanged', () => {
    const expected = { ...base, properties: { a: 1, ...marks } };
    expect(eventFrom(posthog, base)).toEqual(expected);
    expect(eventFrom(posthog, { ...base, properties: '{"a":1}' })).toEqual(expected);
    const { distinct_id, ...rest } = base;
    const within = eventFrom(posthog, { ...rest, properties: { a: 1, distinct_id } });
    expect(within).toMatchObject({ distinct_id: 'd1', properties: { a: 1, distinct_id: 'd1' } });
  });

  it.each([[[]], ['[]']])('properties that PHP writes as %j are an empty object', (properties) => {
    expect(eventFrom(posthog, { ...base, properties })).toEqual({ ...base, properties: marks });
    const [result] = readAll(posthog, [{ ...base, properties: [1] }]);
    expect(result?.kind).toBe('unreadable');
  });

  it.each<[string, object, Record<string, string>]>([
    [
      'the groups API',
      { group_type_index: 0, group_key: 'acme', group_properties: { seats: 3 }, created_at: '2024-05-01T10:20:30Z' },
      { group_types: '0:company, 1:team' },
    ],
    [
      'the table of groups',
      { index: 0, key: 'acme', properties: '{"seats":3}', created_at: '2023-01-01', updated_at: '2024-05-01 10:20:30' },
      { group_types: '0:company' },
    ],
    [
      'a type by name',
      { group_type: 'company', group_key: 'acme', group_properties: { seats: 3 }, created_at: 1_714_558_830 },
      {},
    ],
  ])('a group of %s becomes the same $groupidentify each time', (_name, record, options) => {
    const properties = {
      $group_type: 'company',
      $group_key: 'acme',
      $group_set: { seats: 3 },
      $groups: { company: 'acme' },
      ...marks,
    };
    expect(eventFrom(posthog, record, options)).toEqual({
      uuid: eventFrom(posthog, {
        group_type: 'company',
        group_key: 'acme',
        properties: { seats: 3 },
        created_at: timestamp,
      }).uuid,
      event: '$groupidentify',
      distinct_id: '$company_acme',
      timestamp: '2024-05-01T10:20:30.000Z',
      properties,
    });
  });

  it.each(['Guest', 'null', '00000000-0000-0000-0000-000000000000'])('with the id %s create no person', (id) => {
    expect(eventFrom(posthog, { ...base, distinct_id: id }).properties).toMatchObject({
      $process_person_profile: false,
    });
    const link = { ...base, distinct_id: id, event: '$identify', properties: { $anon_distinct_id: 'd' } };
    expect(eventFrom(posthog, link).properties).not.toHaveProperty('$process_person_profile');
  });

  it('the reason for a group of unknown type names the option to set', () => {
    const group = { group_type_index: 4, group_key: 'a', group_properties: {}, created_at: timestamp };
    const [result] = readAll(posthog, [group], { group_types: '0:company' });
    expect(result).toMatchObject({ kind: 'unreadable', reason: expect.stringContaining('4:company') as string });
  });

  it.each<[unknown, Record<string, string>, string]>([
    ['2024-05-01 10:20:30.123456', {}, timestamp],
    ['2024-05-01 12:20:30.123456', { time_zone: 'Europe/Berlin' }, timestamp],
    ['2024-05-01T12:20:30.123456+02:00', { time_zone: 'America/Denver' }, timestamp],
    [1_714_558_830_123_456, {}, timestamp],
    [1_714_558_830_123, {}, '2024-05-01T10:20:30.123Z'],
  ])('the time %s', (value, options, expected) => {
    expect(eventFrom(posthog, { ...base, timestamp: value }, options).timestamp).toBe(expected);
  });

  it('without a uuid, it is derived from an older id or else from the content', () => {
    const { uuid: _, ...bare } = base;
    const uuids = readAll(posthog, [bare, bare, { ...bare, id: 12 }, { ...bare, id: uuid }]).flatMap((result) =>
      result.kind === 'events' ? result.events.map((event) => event.uuid) : [],
    );
    expect(new Set(uuids).size).toBe(4);
    expect(uuids[3]).toBe(uuid);
    expect(eventFrom(posthog, bare).uuid).toBe(uuids[0]);
  });

  it('elements are kept where client libraries put them', () => {
    const chain = 'a:text="Buy"nth-child="1"';
    expect(eventFrom(posthog, { ...base, elements_chain: chain }).properties['$elements_chain']).toBe(chain);
    const element = {
      tag_name: 'a',
      text: 'Buy',
      attr_class: ['b'],
      href: '/',
      nth_child: 1,
      attributes: { attr__x: 'y' },
    };
    expect(eventFrom(posthog, { ...base, elements: [element], elements_chain: '' }).properties['$elements']).toEqual([
      { tag_name: 'a', $el_text: 'Buy', attr__class: ['b'], attr__href: '/', nth_child: 1, attr__x: 'y' },
    ]);
  });

  it('properties of the person become $set; those of the event take precedence', () => {
    const record = { ...base, properties: { $set: { b: 2 } }, person_properties: '{"a":1,"b":1}', $set: { c: 3 } };
    expect(eventFrom(posthog, record).properties['$set']).toEqual({ a: 1, b: 2, c: 3 });
    expect(eventFrom(posthog, record, { person_properties: 'ignore' }).properties['$set']).toEqual({ b: 2, c: 3 });
    const unset = { ...base, $set_once: { a: 1 }, $unset: ['b'] };
    expect(eventFrom(posthog, unset).properties).toMatchObject({ $set_once: { a: 1 }, $unset: ['b'] });
  });

  it('columns without a mapping keep their names and replace no other', () => {
    const record = { ...base, person_id: 'p', a: 2, team_id: 1, created_at: timestamp, ip: '192.0.2.1' };
    expect(eventFrom(posthog, record).properties).toEqual({
      a: 1,
      posthog_a: 2,
      person_id: 'p',
      $ip: '192.0.2.1',
      ...marks,
    });
  });
});

describe('persons of PostHog', () => {
  const person = {
    distinct_id: 'd1',
    person_id: 'p1',
    properties: { plan: 'pro' },
    created_at: '2024-04-01',
    _inserted_at: timestamp,
  };

  it('become $set at the time of their last change, and all ids of a person are linked', () => {
    const [link, set] = eventsFrom(posthog, person);
    expect(link).toMatchObject({ event: '$merge_dangerously', distinct_id: 'd1', properties: { alias: 'p1' } });
    expect(set).toMatchObject({ event: '$set', distinct_id: 'd1', timestamp, properties: { $set: { plan: 'pro' } } });
    expect(eventsFrom(posthog, { ...person, distinct_id: 'd2' })[0]?.properties['alias']).toBe('p1');
    expect(eventsFrom(posthog, person, { link_persons: 'no' })).toEqual([set]);
  });

  it('are skipped if deleted', () => {
    expect(readAll(posthog, [{ ...person, is_deleted: 1 }])).toEqual([{ kind: 'skipped', reason: 'a deleted person' }]);
  });
});

describe('arbitrary input', () => {
  it.each<[object, string]>([
    [{ event: '' }, 'expected the name of the event in "event", got an empty text'],
    [{ distinct_id: null }, 'expected distinct_id, in the record or its properties'],
    [{ timestamp: null }, 'expected a time in timestamp, got nothing'],
    [{ properties: '{' }, 'expected properties to be an object or its JSON, got a text'],
  ])('%j is rejected as unreadable', (change, reason) => {
    expect(readAll(posthog, [{ ...base, ...change }])).toEqual([{ kind: 'unreadable', reason }]);
  });

  it.each([1, 2])('generated records (seed %d) give the same events again, without losses or duplicates', (seed) => {
    const results = checkRecords(posthog, [...posthogRecords(seed, 2000)]);
    expect(results.filter(({ kind }) => kind !== 'events')).toEqual([]);
  });

  it('becomes an event or is rejected with a reason, and no property name does harm', () => {
    for (const record of posthogRecords(3, 30)) {
      expect(new Set(readHostile(posthog, record))).toEqual(new Set(['unreadable']));
    }
  });
});
