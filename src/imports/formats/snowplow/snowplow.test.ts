import { describe, expect, it } from 'vitest';
import { snowplowColumns, snowplow } from './snowplow.ts';
import {
  checkRecords,
  eventFrom,
  eventsFrom,
  eventsOfExample,
  readAll,
  readHostile,
} from '../../../../test/support/format-check.ts';
import { inCapitals } from '../../../../test/support/warehouse-rows.ts';
import { snowplowRecords } from './records.fixture.ts';

const row = {
  event: 'page_view',
  event_id: '0e6d5c1a-7f3b-4c55-9a52-3c9b7c0a1f11',
  domain_userid: 'd1',
  derived_tstamp: '2024-05-01 10:20:30.123',
};

const line = (cells: Record<string, string>): string => snowplowColumns.map((column) => cells[column] ?? '').join('\t');

const selfDescribing = (schema: string, data: unknown): string =>
  JSON.stringify({ schema: 'iglu:com.snowplowanalytics.snowplow/x/jsonschema/1-0-0', data: { schema, data } });

describe('enriched events of Snowplow', () => {
  it('converts the example of the format as documented', () => {
    expect(eventsOfExample(snowplow)).toEqual(snowplow.example.events);
  });

  it('a line of text with 131 columns gives the same event as a row with column names', () => {
    expect(snowplowColumns).toHaveLength(131);
    expect(new Set(snowplowColumns).size).toBe(131);
    expect(eventFrom(snowplow, `${line(row)}\r\n`)).toEqual(eventFrom(snowplow, row));
    expect(readAll(snowplow, ['a\tb'])).toEqual([
      { kind: 'unreadable', reason: 'expected 131 columns separated by tabs, got 2' },
    ]);
  });

  it('a row of a warehouse with upper-case names and a loader’s own columns gives the same event', () => {
    const loaded = { ...row, _fivetran_synced: '2024-05-02', page_title: null };
    expect(eventFrom(snowplow, loaded)).toEqual(eventFrom(snowplow, row));
    expect(eventFrom(snowplow, inCapitals(loaded))).toEqual(eventFrom(snowplow, row));
  });

  it.each([
    [{ event: 'page_view' }, '$pageview'],
    [{ event: 'struct', se_action: 'add-to-basket' }, 'add-to-basket'],
    [{ event: 'struct', se_action: 'page_ping' }, 'page_ping'],
    [{ event: 'struct' }, 'struct'],
    [{ event: 'unstruct', event_name: 'cart_action' }, 'cart_action'],
    [{ event: 'unstruct', unstruct_event: selfDescribing('iglu:com.acme/cart/jsonschema/1-0-0', {}) }, 'cart'],
    [{ event: 'unstruct', unstruct_event_com_acme_cart_1: '{}' }, 'com_acme_cart'],
    [{ event: 'unstruct', unstruct_event_com_acme_cart_1_0_2: { total: 7 } }, 'com_acme_cart'],
    [{ event: 'unstruct', event_name: 'screen_view' }, '$screen'],
    [{ event: 'transaction' }, 'transaction'],
  ])('%j becomes %s', (change, event) => {
    expect(eventFrom(snowplow, { ...row, ...change }).event).toBe(event);
  });

  it('page pings and failed events are skipped with a reason', () => {
    const failed = {
      schema: 'iglu:com.snowplowanalytics.snowplow.badrows/schema_violations/jsonschema/2-0-0',
      data: {},
    };
    expect(readAll(snowplow, [{ ...row, event: 'page_ping' }, failed])).toEqual([
      { kind: 'skipped', reason: 'the name table skips events called page_ping' },
      { kind: 'skipped', reason: 'a failed event (bad row)' },
    ]);
  });

  it('texts become numbers and booleans where the column has that type', () => {
    const { properties } = eventFrom(snowplow, {
      ...row,
      br_viewwidth: '1280',
      br_cookies: '1',
      dvce_ismobile: '0',
      se_label: '12',
      geo_latitude: '52.5',
    });
    expect(properties).toMatchObject({
      $viewport_width: 1280,
      br_cookies: true,
      dvce_ismobile: false,
      se_label: '12',
      $geoip_latitude: 52.5,
    });
  });

  it('the data of the event becomes properties; contexts become lists by schema, and other values are kept', () => {
    const page = { schema: 'iglu:com.acme/WebPage/jsonschema/2-0-1', data: { id: 1 } };
    const { properties } = eventFrom(snowplow, {
      ...row,
      event: 'unstruct',
      unstruct_event: selfDescribing('iglu:com.acme/cart/jsonschema/1-0-0', { sku: 'a', __odd: 1 }),
      contexts: JSON.stringify({ data: [page, { schema: 'broken', data: 1 }, 7] }),
      derived_contexts: JSON.stringify({ data: [{ ...page, data: { id: 2 } }] }),
      contexts_com_acme_user_1: '[{"id":3}]',
    });
    expect(properties).toMatchObject({
      sku: 'a',
      __odd: 1,
      contexts_com_acme_web_page_2: [{ id: 1 }, { id: 2 }],
      contexts: [{ schema: 'broken', data: 1 }, 7],
      contexts_com_acme_user_1: [{ id: 3 }],
    });
    const broken = { ...row, contexts: '[broken', unstruct_event: '{broken' };
    expect(eventFrom(snowplow, broken).properties).toMatchObject({ contexts: '[broken', unstruct_event: '{broken' });
  });

  it.each([
    [{ true_tstamp: '2024-05-01 10:20:29.5' }, '2024-05-01T10:20:29.500Z'],
    [{ true_tstamp: '', derived_tstamp: '2024-05-01T10:20:30.123456Z' }, '2024-05-01T10:20:30.123456Z'],
    [{ derived_tstamp: '', collector_tstamp: '2024-05-01 10:20:31' }, '2024-05-01T10:20:31.000Z'],
    [{ derived_tstamp: 1_714_558_830_123 }, '2024-05-01T10:20:30.123Z'],
  ])('the time of %j is %s', (change, time) => {
    expect(eventFrom(snowplow, { ...row, ...change }).timestamp).toBe(time);
  });

  it('a user has the id of the event, linked to the device; mobile trackers have it in the session', () => {
    expect(eventsFrom(snowplow, { ...row, user_id: 'u1' }).map((event) => [event.event, event.distinct_id])).toEqual([
      ['$identify', 'u1'],
      ['$pageview', 'u1'],
    ]);
    const schema = 'iglu:com.snowplowanalytics.snowplow/client_session/jsonschema/1-0-2';
    const session = JSON.stringify({ data: [{ schema, data: { userId: 'phone-1' } }] });
    expect(eventFrom(snowplow, { ...row, domain_userid: '', contexts: session }).distinct_id).toBe('phone-1');
    const column = { contexts_com_snowplowanalytics_snowplow_client_session_1: '[{"user_id":"phone-2"}]' };
    expect(eventFrom(snowplow, { ...row, domain_userid: '', ...column }).distinct_id).toBe('phone-2');
  });

  it('the uuid is event_id or else derived from the content', () => {
    expect(eventFrom(snowplow, { ...row, event_id: row.event_id.toUpperCase() }).uuid).toBe(row.event_id);
    checkRecords(snowplow, [
      { ...row, event_id: '' },
      { ...row, event_id: '' },
      { ...row, event_id: 'e-7' },
    ]);
  });

  it.each([
    [
      { derived_tstamp: 'x' },
      'expected a time in true_tstamp, derived_tstamp or collector_tstamp, got a text in derived_tstamp',
    ],
    [{ event: '' }, 'expected the kind of event in event, got an empty text'],
  ])('rejects %j with the reason', (change, reason) => {
    expect(readAll(snowplow, [{ ...row, ...change }])).toEqual([{ kind: 'unreadable', reason }]);
  });

  it.each([
    [1, 'tsv'],
    [2, 'csv'],
  ] as const)('generated records (seed %d, %s) give the same events again, none lost and none twice', (seed, form) => {
    const results = checkRecords(snowplow, [...snowplowRecords(seed, 2000, form)]);
    expect(results.filter((result) => result.kind === 'unreadable')).toEqual([]);
    expect(results.some((result) => result.kind === 'skipped')).toBe(true);
  });

  it('anything but a row is rejected as unreadable, without an exception', () => {
    const contexts = JSON.stringify({ data: [] });
    const kinds = readHostile(snowplow, {
      ...row,
      user_id: 'u1',
      contexts,
      unstruct_event: contexts,
      network_userid: 'n',
    });
    expect(new Set(kinds)).toEqual(new Set(['unreadable']));
  });
});

describe('events of Snowplow without any id', () => {
  const zero = '00000000-0000-0000-0000-000000000000';
  const event = (id: string, more: object): Record<string, unknown> => ({
    event: 'page_view',
    event_id: `c6ef3124-b53a-4b13-a233-0088f79dcb0${id}`,
    collector_tstamp: '2020-01-01 00:00:01.500',
    network_userid: zero,
    domain_userid: zero,
    ...more,
  });
  const records = [event('1', {}), event('2', { domain_sessionid: 's1' }), event('3', { domain_sessionid: 's1' })];

  it('are kept without a person, under an id per session or else per event, and noted', () => {
    const results = readAll(snowplow, records);
    const events = results.flatMap((result) => (result.kind === 'events' ? result.events : []));
    expect(events.map((each) => each.distinct_id)).toEqual([
      'anonymous-c6ef3124-b53a-4b13-a233-0088f79dcb01',
      'anonymous-s1',
      'anonymous-s1',
    ]);
    for (const { properties } of events) {
      expect(properties['$process_person_profile']).toBe(false);
      expect(JSON.stringify(properties)).not.toContain(zero);
    }
    expect(results.map((result) => result.notes)).toEqual(records.map(() => [{ of: 'snowplow_anonymous_kept' }]));
  });

  it('are skipped by anonymous=skip', () => {
    expect(readAll(snowplow, records, { anonymous: 'skip' }).map((result) => result.kind)).toEqual(
      records.map(() => 'skipped'),
    );
  });

  it('a placeholder for a device links no users', () => {
    const events = readAll(snowplow, [event('4', { user_id: 'u1' }), event('5', { user_id: 'u2' })]).flatMap((result) =>
      result.kind === 'events' ? result.events : [],
    );
    expect(events.map((each) => [each.event, each.distinct_id])).toEqual([
      ['$pageview', 'u1'],
      ['$pageview', 'u2'],
    ]);
  });
});
