import { expect, it } from 'vitest';
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
