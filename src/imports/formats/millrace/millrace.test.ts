import { describe, expect, it } from 'vitest';
import { millrace } from './millrace.ts';
import {
  checkRecords,
  eventFrom,
  eventsFrom,
  eventsOfExample,
  readAll,
  readHostile,
} from '../../../../test/support/format-check.ts';
import { millraceRecords } from './records.fixture.ts';

const base = {
  uuid: '018f3a2b-4c5d-7e6f-8a9b-0c1d2e3f4a5b',
  event: 'x',
  distinct_id: ' d 1 ',
  timestamp: '2024-05-01T10:20:30.123456Z',
  properties: { a: null, '': 1, $set: { b: '' }, __proto__x: [] },
};
const row = { ...base, historical_migration: false, received_at: '2024-05-01T10:20:31.000000Z', import_run: '' };

describe('events of Millrace', () => {
  it('converts the example of the format as documented', () => {
    expect(eventsOfExample(millrace)).toEqual(millrace.example.events);
  });

  it('are unchanged, whether properties are an object or JSON', () => {
    expect(eventFrom(millrace, row)).toEqual(base);
    expect(eventFrom(millrace, { ...row, properties: JSON.stringify(base.properties) })).toEqual(base);
  });

  it('of an import lose the mark of that run, and the new one adds its own', () => {
    const properties = { a: 1, $import_run_id: 'run-1', $import_source: 'posthog' };
    const { properties: read } = eventFrom(millrace, { ...row, properties, import_run: 'run-1' });
    expect(read).toEqual({ a: 1, $import_source: 'posthog' });
  });

  it.each([
    ['', undefined, 'merge'],
    ['run-1', undefined, undefined],
    ['run-1', 'joined', 'joined'],
    ['', 'joined', 'joined'],
  ])('an $identify with the run "%s" and the mark %s merges as before', (run, mark, expected) => {
    const properties = { $anon_distinct_id: 'device', ...(mark && { $import_identity: mark }) };
    const event = eventFrom(millrace, { ...row, event: '$identify', properties, import_run: run });
    expect(event.properties['$import_identity']).toBe(expected);
  });

  it.each([
    ['uuid', 'no uuid', 'uuid of the event'],
    ['uuid', undefined, 'uuid of the event'],
    ['event', '', 'name of the event'],
    ['distinct_id', null, 'distinct_id'],
    ['timestamp', 'soon', 'a time in timestamp'],
    ['properties', '[1]', 'an object or its JSON'],
  ])('with %s = %j are rejected', (field, value, reason) => {
    expect(readAll(millrace, [{ ...row, [field]: value }])).toEqual([
      expect.objectContaining({ kind: 'unreadable', reason: expect.stringContaining(reason) }),
    ]);
  });

  it('persons and groups are skipped by default, and with the option create persons and groups with their times', () => {
    const changes = [{ at: '2024-05-01T10:20:30.000001Z', set: { n: 1 }, set_once: { m: 2 }, unset: ['o'] }];
    const person = {
      uuid: base.uuid,
      distinct_ids: '["b","a"]',
      first_distinct_id: 'a',
      created_at: '2024-05-01T00:00:00Z',
      changes: JSON.stringify(changes),
    };
    const group = { group_type: 'company', group_key: 'acme', created_at: '2024-05-01T00:00:00Z', changes };
    expect(readAll(millrace, [person, group]).map(({ kind }) => kind)).toEqual(['skipped', 'skipped']);
    const events = eventsFrom(millrace, person, { profiles: 'import' });
    expect(events.map(({ event, distinct_id: id, properties }) => [event, id, properties])).toEqual([
      ['$set', 'a', expect.objectContaining({ $set: {} })],
      ['$merge_dangerously', 'a', expect.objectContaining({ alias: 'b' })],
      ['$set', 'a', expect.objectContaining({ $set: { n: 1 }, $set_once: { m: 2 }, $unset: ['o'] })],
    ]);
    const ofGroup = eventsFrom(millrace, group, { profiles: 'import' });
    expect(ofGroup.map(({ properties }) => properties['$group_set'])).toEqual([{}, { n: 1 }]);
  });

  it('generated records are read, and hostile ones break nothing', () => {
    const results = checkRecords(millrace, [...millraceRecords(3, 300)]);
    expect(results.every(({ kind }) => kind === 'events')).toBe(true);
    readHostile(millrace, row);
  });
});
