import { expect, it } from 'vitest';
import { parseExact } from '../../api/exact-json.ts';
import { mapFields } from './record-mapping.ts';

it('fields of a record are paired with those of its event by value, by equal names first', () => {
  const record = {
    type: 'track',
    userId: 'ada',
    time: 1_767_225_600,
    properties: { first: true, second: true, plan: 'ada' },
  };
  const event = {
    event: 'visit',
    distinct_id: 'ada',
    timestamp: '2026-01-01T00:00:00.000Z',
    properties: { second: true, plan: 'ada', $lib: 'import' },
  };
  const pairs = mapFields(record, event).map(({ from, to }) => [from, to]);
  expect(pairs).toEqual([
    [null, 'event'],
    ['userId', 'distinct_id'],
    ['time', 'timestamp'],
    ['properties.second', 'second'],
    ['properties.plan', 'plan'],
    [null, '$lib'],
    ['type', null],
    ['properties.first', null],
  ]);
});

it('an integer beyond 2^53 is paired with the id made of its digits', () => {
  const record = parseExact('{"user": 9007199254740993123}') as Record<string, unknown>;
  const event = { distinct_id: '9007199254740993123', timestamp: '2026-01-01T00:00:00Z' };
  expect(mapFields(record, event).map(({ from, to }) => [from, to])).toEqual([
    ['user', 'distinct_id'],
    [null, 'timestamp'],
  ]);
});

it('local and unreadable times are not paired', () => {
  expect(mapFields({ at: 'soon' }, { timestamp: '2026-01-01T00:00:00Z' })).toEqual([
    { from: null, to: 'timestamp', value: '2026-01-01T00:00:00Z' },
    { from: 'at', to: null, value: 'soon' },
  ]);
});

it('an object that is kept whole is one field, and properties that imports add have no counterpart', () => {
  const record = { name: 'visit', properties: { isLead: true, id: 0 } };
  const event = { event: 'visit', properties: { properties: { isLead: true, id: 0 }, $geoip_disable: true } };
  expect(mapFields(record, event).map(({ from, to }) => [from, to])).toEqual([
    ['name', 'event'],
    ['properties', 'properties'],
    [null, '$geoip_disable'],
  ]);
});

it('an object within the properties of a record is one field of its event', () => {
  const record = { event_properties: { plan: 'pro', nested: { a: [1, { b: null }], c: { d: 1 } } } };
  const event = { properties: { plan: 'pro', nested: { a: [1, { b: null }], c: { d: 1 } } } };
  expect(mapFields(record, event).map(({ from, to }) => [from, to])).toEqual([
    ['event_properties.plan', 'plan'],
    ['event_properties.nested', 'nested'],
  ]);
});
