import { parseExactValues } from '../../../base/exact-json.ts';
import { describe, expect, it } from 'vitest';
import { mparticle } from './mparticle.ts';
import {
  checkRecords,
  eventFrom,
  eventsFrom,
  eventsOfExample,
  readAll,
  readHostile,
} from '../../../../test/support/format-check.ts';
import { mparticleRecords } from './records.fixture.ts';

const data = { timestamp_unixtime_ms: 1_714_558_830_123, event_name: 'Order Done' };
const event = { event_type: 'custom_event', data };
const batch = { batch_id: 'b1', mpid: '77', events: [event] };

describe('batches of mParticle', () => {
  it('converts the example of the format as documented', () => {
    expect(eventsOfExample(mparticle)).toEqual(mparticle.example.events);
  });

  it.each([
    [event, 'Order Done'],
    [{ event_type: 'custom_event', data: { ...data, event_name: 'screen_view' } }, 'screen_view'],
    [{ event_type: 'screen_view', data: { ...data, screen_name: 'Start' } }, '$screen'],
    [{ event_type: 'commerce_event', data }, 'commerce_event'],
  ])('%j becomes %s', (item, name) => {
    expect(eventFrom(mparticle, { ...batch, events: [item] }).event).toBe(name);
  });

  it('the name table skips sessions; the rest of the batch is kept', () => {
    const start = { event_type: 'session_start', data };
    expect(eventsFrom(mparticle, { ...batch, events: [start, event] })).toHaveLength(1);
    expect(readAll(mparticle, [{ ...batch, events: [start] }])).toEqual([
      { kind: 'skipped', reason: 'the name table skips events called session_start' },
    ]);
  });

  it('every event has the properties of device and application, the first one also those of the user', () => {
    const [first, second] = eventsFrom(mparticle, {
      ...batch,
      device_info: { platform: 'Android', screen_width: 1080 },
      application_info: { package: 'com.example' },
      user_attributes: { plan: 'pro', __proto: 1 },
      user_identities: { facebook: 'f1', email: 'a@b.example' },
      events: [{ ...event, data: { ...data, location: { latitude: 1 }, custom_attributes: { k: 'v' } } }, event],
    });
    const known = { $os: 'Android', $screen_width: 1080, $app_namespace: 'com.example', mpid: '77' };
    const $set = { plan: 'pro', __proto: 1, email: 'a@b.example', user_identity_facebook: 'f1' };
    expect(first?.properties).toMatchObject({ ...known, k: 'v', $geoip_latitude: 1, $set });
    expect(second?.properties).toMatchObject(known);
    expect(second?.properties).not.toHaveProperty('$set');
  });

  it.each([
    [{ user_identities: [{ identity_type: 'customer_id', identity: 'u1' }] }, {}, 'u1', 2],
    [{ user_identities: [{ type: 'customer_id', encoding: 'raw', value: 'u1' }] }, {}, 'u1', 2],
    [{ user_identities: [{ type: 'customer_id', encoding: 'md5', value: '0cc1' }] }, {}, '77', 1],
    [{ user_identities: { email: 'a@b.example' } }, { user_identity: 'email' }, 'a@b.example', 2],
    [{ user_identities: { customer_id: 'null' } }, {}, '77', 1],
    [{ mpid: parseExactValues('6004677780660780123') }, {}, '6004677780660780123', 1],
    [{ mpid: null, events: [{ ...event, data: { ...data, session_uuid: 's1' } }] }, {}, 's1', 1],
  ])('%j with %j is %s', (change, options, distinctId, count) => {
    const events = eventsFrom(mparticle, { ...batch, ...change }, options);
    expect(events.map((each) => each.distinct_id)).toEqual(Array(count).fill(distinctId));
  });

  it('a batch without events is the profile of its user, if it has any properties', () => {
    const profile = { mpid: '77', user_attributes: { plan: 'pro' }, timestamp_unixtime_ms: '1714558830123' };
    expect(eventFrom(mparticle, profile)).toMatchObject({ event: '$set', properties: { $set: { plan: 'pro' } } });
    expect(readAll(mparticle, [{ mpid: '77', events: [] }])).toEqual([
      { kind: 'skipped', reason: 'a batch without events' },
    ]);
  });

  it.each([
    [{ events: {} }, 'expected events as a list, got an object'],
    [{ mpid: 5.5 }, /^expected an identity customer_id, mpid or the id of a device; mpid is a number$/],
    [{ events: [event, 7] }, 'events[1]: expected an object, got a number'],
    [{ events: [{ data }] }, 'events[0]: expected event_type'],
    [{ events: [{ event_type: 'custom_event', data: {} }] }, /^events\[0\]: expected the name of the event in data/],
    [{ events: [{ event_type: 'x', data: {} }] }, /^events\[0\]: expected timestamp_unixtime_ms .*, got nothing$/],
  ])('rejects %j with the reason', (change, reason) => {
    const [result] = readAll(mparticle, [{ ...batch, ...change }]);
    expect(result?.kind).toBe('unreadable');
    expect(result?.kind === 'unreadable' ? result.reason : '').toMatch(reason);
  });

  it('the same batch gives the same events; without any id, uuids are derived from the content', () => {
    const two = { ...batch, events: [event, event] };
    expect(eventsFrom(mparticle, two)).toEqual(eventsFrom(mparticle, { ...two, user_agent: undefined }));
    const results = checkRecords(mparticle, [two, { ...two, batch_id: null }]);
    expect(results.map(({ kind }) => kind)).toEqual(['events', 'events']);
  });

  it.each([1, 2])('generated batches (seed %d) give the same events again, without losses or duplicates', (seed) => {
    const results = checkRecords(mparticle, [...mparticleRecords(seed, 1000)]);
    expect(results.filter((result) => result.kind === 'unreadable')).toEqual([]);
  });

  it('anything but a batch is rejected as unreadable, without an exception', () => {
    expect(new Set(readHostile(mparticle, { ...batch, user_attributes: {}, user_identities: [] }))).toEqual(
      new Set(['unreadable']),
    );
  });
});
