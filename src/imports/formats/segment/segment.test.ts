import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPlaceholderId, placeholderUuid } from '../../../base/placeholder-ids.ts';
import { createMapper } from '../../../../docs/guides/first-history.mjs';
import { derivedId } from '../../../base/ids.ts';
import type { RecordReader } from '../format.ts';
import { repeatedMessage } from './map.ts';
import { segment } from './segment.ts';
import type { WireEvent } from '../../../wire/contract/wire-event.ts';

const base = { messageId: 'm1', userId: 'u1', timestamp: '2021-03-04T05:06:07.089Z' };

function createReader(duplicates = 'keep'): RecordReader {
  return segment.createReader({ duplicates }, segment.names);
}

function eventOf(read: RecordReader, message: unknown): WireEvent | undefined {
  const result = read(message);
  return result.kind === 'events' ? result.events[0] : undefined;
}

function convert(message: unknown): WireEvent {
  const event = eventOf(createReader(), message);
  if (event === undefined) throw new Error(JSON.stringify(createReader()(message)));
  return event;
}

describe('Segment messages as events', () => {
  it.each([
    ['track', { type: 'track', event: 'Order Done', properties: { total: 7 } }, 'Order Done', { total: 7 }],
    ['page', { type: 'page', name: 'Home', properties: { url: 'x' } }, '$pageview', { name: 'Home', url: 'x' }],
    ['screen', { type: 'screen', name: 'Main' }, '$screen', { $screen_name: 'Main' }],
    ['identify', { type: 'identify', traits: { plan: 'pro' } }, '$identify', { $set: { plan: 'pro' } }],
    ['alias', { type: 'alias', previousId: 'old' }, '$create_alias', { alias: 'old' }],
    [
      'group',
      { type: 'group', groupId: 'g1', traits: { groupType: 'company', size: 3 } },
      '$groupidentify',
      { $group_type: 'company', $group_key: 'g1', $group_set: { size: 3 }, $groups: { company: 'g1' } },
    ],
    [
      'group without a type',
      { type: 'group', groupId: 4 },
      '$groupidentify',
      { $group_type: 'group', $group_key: '4', $group_set: {}, $groups: { group: '4' } },
    ],
    [
      'alias with traits of the person',
      { type: 'alias', previousId: 'old', context: { traits: { plan: 'pro' } } },
      '$create_alias',
      { alias: 'old', $set: { plan: 'pro' } },
    ],
    [
      'group with traits of the person beside its own',
      { type: 'group', groupId: 'g1', traits: { size: 3 }, context: { traits: { plan: 'pro' } } },
      '$groupidentify',
      {
        $group_type: 'group',
        $group_key: 'g1',
        $group_set: { size: 3 },
        $groups: { group: 'g1' },
        $set: { plan: 'pro' },
      },
    ],
  ])('%s', (_name, message, event, properties) => {
    expect(convert({ ...base, ...message })).toEqual({
      uuid: derivedId('segment', 'm1'),
      event,
      distinct_id: 'u1',
      timestamp: base.timestamp,
      properties,
    });
  });

  it('maps the context, and the event’s own properties take precedence', () => {
    const context = {
      ip: '192.0.2.1',
      os: { name: 'iOS', version: '17' },
      page: { url: 'https://shop.example/cart?x=1', path: '/cart', referrer: '' },
      campaign: { name: 'spring', source: 'mail' },
      traits: { email: 'a@b.example' },
      screen: { width: 100, height: null },
    };
    const message = { ...base, anonymousId: 'a1', type: 'track', event: 'x', context, properties: { $os: 'mine' } };
    expect(convert(message).properties).toEqual({
      $current_url: 'https://shop.example/cart?x=1',
      $host: 'shop.example',
      $os: 'mine',
      $os_version: '17',
      $pathname: '/cart',
      $referrer: '',
      $screen_width: 100,
      utm_campaign: 'spring',
      utm_source: 'mail',
      $ip: '192.0.2.1',
      $anon_distinct_id: 'a1',
      $set: { email: 'a@b.example' },
    });
  });

  it.each([
    [{ userId: undefined, anonymousId: 'a1' }, 'a1'],
    [{ userId: '', anonymousId: 'a1' }, 'a1'],
    [{ userId: 42 }, '42'],
  ])('distinct_id is userId or else anonymousId: %j', (ids, expected) => {
    expect(convert({ ...base, type: 'page', ...ids }).distinct_id).toBe(expected);
  });

  it.each([
    [{ timestamp: undefined, originalTimestamp: '2020-01-01T00:00:00Z' }, '2020-01-01T00:00:00Z'],
    [{ timestamp: null, originalTimestamp: '', sentAt: '2020-01-02T00:00:00Z' }, '2020-01-02T00:00:00Z'],
    [{ originalTimestamp: '2019-01-01T00:00:00Z', receivedAt: '2020-01-01T00:00:00Z' }, base.timestamp],
  ])('the time is timestamp, or else its substitutes: %j', (times, expected) => {
    expect(convert({ ...base, type: 'page', ...times }).timestamp).toBe(expected);
  });

  it.each([
    ['a text', 'expected a JSON object, got a text'],
    [[], 'expected a JSON object, got a list'],
    [{ ...base, type: 'track' }, 'expected the name of the event in "event"'],
    [{ ...base, type: 'video' }, 'expected type track, identify, page, screen, group or alias, got: "video"'],
    [{ ...base, type: 'alias' }, 'expected previousId'],
    [{ ...base, type: 'group' }, 'expected groupId'],
    [{ ...base, type: 'page', userId: ' ' }, 'expected userId or anonymousId'],
    [{ type: 'page', userId: 'u' }, 'expected a timestamp, got nothing'],
    [{ type: 'page', userId: 'u', timestamp: [] }, 'expected a timestamp, got a list in timestamp'],
  ])('%j is rejected with the reason', (message, reason) => {
    expect(createReader()(message)).toEqual({ kind: 'unreadable', reason });
  });
});

describe('ids', () => {
  const page = (messageId: string) => ({ ...base, messageId, type: 'page' });
  const messages = [page('m1'), page('m2'), page('m1'), page('m1')];

  it('a repeated messageId is kept under a separate id, the same in every run', () => {
    const run = () => {
      const read = createReader();
      return messages.map((message) => eventOf(read, message)?.uuid);
    };
    expect(run()).toEqual([
      derivedId('segment', 'm1'),
      derivedId('segment', 'm2'),
      derivedId('segment', 'm1', '2'),
      derivedId('segment', 'm1', '3'),
    ]);
    expect(run()).toEqual(run());
  });

  it('--duplicates drop keeps the first only', () => {
    const results = messages.map(createReader('drop'));
    const repeated = { kind: 'skipped', reason: repeatedMessage };
    expect(results.map(({ kind }) => kind).slice(0, 2)).toEqual(['events', 'events']);
    expect(results.slice(2)).toEqual([repeated, repeated]);
  });

  it('without a messageId, the uuid is derived from the content', () => {
    const { messageId: _, ...anonymous } = base;
    const read = createReader();
    const uuids = [1, 1, 2].map(
      (n) => eventOf(read, { ...anonymous, type: 'track', event: 'x', properties: { n } })?.uuid,
    );
    expect(uuids).not.toContain(undefined);
    expect(new Set(uuids).size).toBe(3);
  });

  it('occurrences are counted exactly over many ids', () => {
    const read = createReader();
    const uuids = new Set<string | undefined>();
    for (let index = 0; index < 20_000; index += 1) {
      uuids.add(eventOf(read, { ...base, type: 'page', messageId: `m${index % 7000}` })?.uuid);
    }
    expect(uuids.size).toBe(20_000);
    expect(uuids).not.toContain(undefined);
    expect(uuids).toContain(derivedId('segment', 'm5', '3'));
    expect(uuids).not.toContain(derivedId('segment', 'm6001', '3'));
  });
});

describe('arbitrary input', () => {
  it('becomes an event or is rejected with a reason, the same in every run, and changes no prototype', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 5 }), (messages) => {
        const run = () => messages.map(createReader());
        expect(run()).toEqual(run());
        const reasons = run().flatMap((result) => (result.kind === 'unreadable' ? [result.reason] : []));
        expect(reasons.filter((reason) => !reason.startsWith('expected '))).toEqual([]);
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
    );
  });

  it('a property called __proto__ is a property', () => {
    const message = JSON.parse(
      '{"type":"track","event":"x","userId":"u","timestamp":"t","properties":{"__proto__":1}}',
    );
    expect(JSON.stringify(convert(message).properties)).toBe('{"__proto__":1}');
  });
});

describe('the script in the guide', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('', ' ', 'a', 'b'), fc.integer(), fc.constant(null));
  // The script knows the placeholder ids, without every way to quote them.
  const id = fc.oneof(
    text.filter((each) => !isPlaceholderId(String(each))),
    fc.constantFrom(0, -1, 'null', ' Guest', placeholderUuid),
  );
  const bag = fc.dictionary(
    fc.oneof(fc.string(), fc.constantFrom('__proto__', 'name', '$os', 'groupType')),
    fc.jsonValue(),
  );
  const message = fc.record(
    {
      type: fc.constantFrom('track', 'identify', 'page', 'screen', 'group', 'alias', 'other'),
      event: text,
      name: text,
      category: text,
      userId: id,
      anonymousId: id,
      messageId: text,
      groupId: text,
      previousId: id,
      timestamp: fc.oneof(text, fc.constant('2021-01-01T00:00:00Z')),
      originalTimestamp: fc.oneof(text, fc.constant('2049-01-01T10:00:00.000Z')),
      sentAt: fc.constantFrom('2049-01-01T10:00:05.000Z', null),
      receivedAt: fc.constantFrom('2024-01-01T08:00:05.100Z', null),
      request_ip: text,
      properties: fc.oneof(bag, fc.constant(null), fc.string()),
      traits: fc.oneof(bag, fc.constant(null)),
      context: fc.record(
        {
          ip: text,
          traits: bag,
          os: fc.oneof(bag, fc.record({ name: text, version: text })),
          page: fc.record({ url: fc.oneof(fc.webUrl(), fc.string()), path: text }, { requiredKeys: [] }),
          campaign: bag,
          library: fc.constantFrom(null, 'x', { name: 'analytics.js' }),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ['type'] },
  );

  it('maps every message exactly as the command does', () => {
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 8 }), (messages) => {
        const parsed = JSON.parse(JSON.stringify(messages)) as unknown[];
        const read = createReader();
        const ours = parsed.map((each) => eventOf(read, each));
        const mapper = createMapper();
        const theirs = parsed.map((each) => {
          const mapped = mapper(each);
          if (mapped === undefined) return undefined;
          const { uuid, event, distinctId, timestamp, properties } = mapped;
          return { uuid, event, distinct_id: distinctId, timestamp, properties };
        });
        expect(theirs).toEqual(ours);
      }),
      { numRuns: 200 },
    );
  });
});
