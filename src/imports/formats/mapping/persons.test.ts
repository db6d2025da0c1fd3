import { describe, expect, it } from 'vitest';
import { checkRecords, eventsFrom, readAll } from '../../../../test/support/format-check.ts';
import { FormatOptionsError } from '../format.ts';
import { mapping } from './mapping.ts';
import { customerRecords, customersMapping } from './records.fixture.ts';

const at = '2024-03-01T10:00:00Z';
const optionsOf = (rules: object): Record<string, string> => ({ mapping: JSON.stringify(rules) });
const persons = (more: object = {}): Record<string, string> =>
  optionsOf({ records: 'persons', distinct_id: 'id', timestamp: 'at', ...more });
const groups = (more: object = {}): Record<string, string> =>
  optionsOf({ records: 'groups', groups: { company: 'id' }, timestamp: 'at', ...more });
const marks = { $geoip_disable: true, $import_source: 'mapping' };

describe('a table of persons', () => {
  const row = { id: '9007199254740993', at, email: 'ü"x"@example.com', plan: 'pro', visitor: 'v1', note: null };

  it('becomes one $set per row, with all other columns', () => {
    expect(eventsFrom(mapping, row, persons())).toEqual([
      {
        uuid: expect.stringMatching(/^[\da-f-]{36}$/),
        event: '$set',
        distinct_id: row.id,
        timestamp: '2024-03-01T10:00:00.000Z',
        properties: { $set: { email: row.email, plan: 'pro', visitor: 'v1' }, ...marks },
      },
    ]);
  });

  it.each<[string, object, object]>([
    ['named columns', { $set: { mail: 'email' } }, { $set: { mail: row.email } }],
    [
      'named columns and the others',
      { $set: { mail: 'email' }, others: true },
      { $set: { mail: row.email, plan: 'pro', visitor: 'v1' } },
    ],
    [
      'first values, and the others as current ones',
      { $set_once: ['plan'] },
      { $set: { email: row.email, visitor: 'v1' }, $set_once: { plan: 'pro' } },
    ],
    ['only first values', { others: '$set_once' }, { $set_once: { email: row.email, plan: 'pro', visitor: 'v1' } }],
    ['none', { others: false }, {}],
  ])('sets %s', (_name, more, properties) => {
    expect(eventsFrom(mapping, row, persons(more)).map((event) => event.properties)).toEqual([
      { ...properties, ...marks },
    ]);
  });

  it('with a column of another id links it to the person, once', () => {
    const events = eventsFrom(mapping, row, persons({ anonymous_id: 'visitor', $set: ['plan'] }));
    expect(events.map(({ event, distinct_id, properties }) => [event, distinct_id, properties])).toEqual([
      ['$identify', row.id, { $anon_distinct_id: 'v1', ...marks }],
      ['$set', row.id, { $set: { plan: 'pro' }, ...marks }],
    ]);
  });

  it('without a column of times takes the one that its rules give to all rows, and never guesses one', () => {
    const [event] = eventsFrom(mapping, row, persons({ timestamp: { constant: '2026-11-28' } }));
    expect(event?.timestamp).toBe('2026-11-28T00:00:00.000Z');
    expect(() => mapping.createReader(persons({ timestamp: undefined }), mapping.names)).toThrow(
      'mapping: timestamp: expected the column with the time at which the values were valid, or the same time for all records, ' +
        'such as {"constant": "2026-11-28"}, got nothing',
    );
  });

  it.each<[string, object, object]>([
    [
      'without a time',
      { at: null },
      { kind: 'unreadable', reason: expect.stringContaining('timestamp: expected a time') },
    ],
    ['without an id', { id: '' }, { kind: 'unreadable', reason: 'distinct_id: expected an id, got nothing' }],
    ['with a placeholder id', { id: 'null' }, { kind: 'skipped', reason: 'a person with a placeholder id' }],
  ])('has a row %s', (_name, change, result) => {
    expect(readAll(mapping, [{ ...row, ...change }], persons())).toEqual([result]);
  });

  it.each(['event', 'properties', 'groups', '$group_set'])('has no rule %s', (key) => {
    const read = (): unknown => mapping.createReader(persons({ [key]: ['x'] }), mapping.names);
    expect(read).toThrow(FormatOptionsError);
    expect(read).toThrow(/ in a mapping of persons/);
  });

  it.each([1, 2])('gives the same events again, without losses or duplicates (seed %d)', (seed) => {
    const records = [...customerRecords(seed, 400)];
    checkRecords(mapping, records, customersMapping);
    const sets = readAll(mapping, records, customersMapping).flatMap((read) =>
      read.kind === 'events' ? read.events : [],
    );
    expect(sets.filter(({ event }) => event === '$set')).toHaveLength(400);
  });
});

describe('a table of groups', () => {
  const row = { id: 42, at, name: 'ACME "North"', seats: 5, none: null };

  it('becomes one $groupidentify per row, with all other columns', () => {
    expect(eventsFrom(mapping, row, groups())).toEqual([
      {
        uuid: expect.any(String),
        event: '$groupidentify',
        distinct_id: '$company_42',
        timestamp: '2024-03-01T10:00:00.000Z',
        properties: {
          $group_type: 'company',
          $group_key: '42',
          $group_set: { name: row.name, seats: 5 },
          $groups: { company: '42' },
          ...marks,
        },
      },
    ]);
  });

  it('sets only the columns that a rule names', () => {
    const [event] = eventsFrom(mapping, row, groups({ $group_set: { title: 'name' } }));
    expect(event?.properties['$group_set']).toEqual({ title: row.name });
  });

  it('has one type of group', () => {
    const read = (): unknown => mapping.createReader(groups({ groups: { a: 'id', b: 'name' } }), mapping.names);
    expect(read).toThrow('mapping: groups: expected one type of group, such as {"company": "id"}, got ["a","b"]');
    expect(readAll(mapping, [{ ...row, id: null }], groups())).toEqual([
      { kind: 'unreadable', reason: 'groups: expected the key of a group, got nothing' },
    ]);
  });
});
