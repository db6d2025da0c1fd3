import { describe, expect, it } from 'vitest';
import { FormatOptionsError } from '../format.ts';
import { june } from './june.ts';
import {
  checkRecords,
  eventFrom,
  eventsFrom,
  eventsOfExample,
  readAll,
  readHostile,
} from '../../../../test/support/format-check.ts';
import { juneRecords } from './records.fixture.ts';

const row = { type: 'track', name: 'Order Done', user_id: 'u1', anonymous_id: '', timestamp: '2024-05-01T10:20:30Z' };

describe('rows of June', () => {
  it('converts the example of the format as documented', () => {
    expect(eventsOfExample(june)).toEqual(june.example.events);
  });

  it.each([
    [{ type: 'track' }, 'Order Done'],
    [{ type: '' }, 'Order Done'],
    [{ type: 'page', name: 'Pricing' }, '$pageview'],
    [{ type: 'page', name: '' }, '$pageview'],
    [{ type: 'screen', name: 'Start' }, '$screen'],
    [{ type: 'track', name: 'page' }, 'page'],
    [{ type: 'identify', name: '', traits: '{"plan":"pro"}' }, '$set'],
    [{ type: '', name: '', traits: '{"plan":"pro"}' }, '$set'],
    [{ type: '', name: '', group_id: 'g1', traits: '{"seats":3}' }, '$groupidentify'],
    [{ type: 'group', name: '', group_id: 'g1' }, '$groupidentify'],
  ])('%j becomes %s', (change, event) => {
    expect(eventFrom(june, { ...row, ...change }).event).toBe(event);
  });

  it('traits, groups and the context are mapped; unknown columns are kept', () => {
    const context = {
      page: { url: 'https://a.example/x' },
      ip: '192.0.2.7',
      traits: { team: 'red' },
      nested: { deep: 1 },
    };
    const { properties } = eventFrom(june, {
      ...row,
      properties: '{"price":1.5,"__proto__":"kept"}',
      traits: '{"plan":"pro"}',
      context: JSON.stringify(context),
      group_id: 'g1',
      region: 'north',
    });
    expect(Object.getOwnPropertyDescriptor(properties, '__proto__')?.value).toBe('kept');
    expect({ ...properties }).toMatchObject({
      price: 1.5,
      $current_url: 'https://a.example/x',
      $pathname: '/x',
      $ip: '192.0.2.7',
      context_nested_deep: 1,
      region: 'north',
      $groups: { company: 'g1' },
      $set: { team: 'red', plan: 'pro' },
    });
  });

  it('a group keeps its properties, and its type can be chosen', () => {
    const group = { ...row, type: 'group', name: '', group_id: 'g1', traits: '{"seats":3}' };
    const { properties } = eventFrom(june, group, { group_type: 'account' });
    expect(properties).toMatchObject({
      $group_type: 'account',
      $group_key: 'g1',
      $group_set: { seats: 3 },
      $groups: { account: 'g1' },
    });
    expect(() => june.createReader({ kind: 'x' }, june.names)).toThrow(FormatOptionsError);
  });

  it('a device is linked to its user once', () => {
    const pair = { ...row, anonymous_id: 'a1' };
    expect(eventsFrom(june, pair).map(({ event }) => event)).toEqual(['$identify', 'Order Done']);
    const [, second] = readAll(june, [pair, { ...pair, timestamp: '2024-05-01T10:20:31Z' }]);
    expect(second).toMatchObject({ kind: 'events', events: [{ event: 'Order Done' }] });
  });

  it.each([
    ['2024-05-01T10:20:30.123456Z', '2024-05-01T10:20:30.123456Z'],
    ['2024-05-01 10:20:30', '2024-05-01T10:20:30.000Z'],
    ['2024-05-01T10:20:30+02:00', '2024-05-01T08:20:30.000Z'],
    ['1714558830123', '2024-05-01T10:20:30.123Z'],
  ])('the time %s is %s', (timestamp, time) => {
    expect(eventFrom(june, { ...row, timestamp }).timestamp).toBe(time);
  });

  it('a row with an id keeps it; the same row twice is two events', () => {
    const message_id = 'AAAAAAAA-0000-4000-8000-000000000001';
    expect(eventFrom(june, { ...row, message_id }).uuid).toBe(message_id.toLowerCase());
    checkRecords(june, [row, row, { ...row, id: '7' }]);
  });

  it.each([
    [{ timestamp: 'soon' }, 'expected timestamp as ISO 8601 or milliseconds, got a text'],
    [{ properties: '{broken' }, 'expected properties as a JSON object, got a text'],
    [{ context: '[1]' }, 'expected context as a JSON object, got a text'],
    [{ user_id: '' }, 'expected user_id or anonymous_id, got neither'],
    [{ user_id: 'null' }, 'expected user_id or anonymous_id, got neither'],
    [{ name: '' }, 'expected the name of the event in name, got an empty text'],
    [{ type: 'group', name: '' }, 'expected group_id, got nothing'],
  ])('rejects %j with the reason', (change, reason) => {
    expect(readAll(june, [{ ...row, ...change }])).toEqual([{ kind: 'unreadable', reason }]);
  });

  it.each([1, 2])('generated rows (seed %d) give the same events again, without losses or duplicates', (seed) => {
    const results = checkRecords(june, [...juneRecords(seed, 2000)]);
    expect(results.filter((result) => result.kind !== 'events')).toEqual([]);
  });

  it('anything but a row is rejected as unreadable, without an exception', () => {
    const [record = {}] = juneRecords(3, 1);
    expect(new Set(readHostile(june, { ...record, traits: '{"a":1}', type: 'identify' }))).toEqual(
      new Set(['unreadable']),
    );
  });
});
