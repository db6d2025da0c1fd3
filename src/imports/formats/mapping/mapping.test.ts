import { describe, expect, it } from 'vitest';
import { FormatOptionsError } from '../format.ts';
import {
  checkRecords,
  eventFrom,
  eventsFrom,
  eventsOf,
  eventsOfExample,
  readAll,
  readHostile,
} from '../../../../test/support/format-check.ts';
import { createDraw } from '../../../../test/support/draw.ts';
import { mapping } from './mapping.ts';

const rules = { event: 'name', distinct_id: 'user', timestamp: 'at' };
const record = { name: 'Order Done', user: 'u1', at: '2021-03-04T05:06:07Z' };
const given = (more: object): Record<string, string> => ({ mapping: JSON.stringify({ ...rules, ...more }) });
const own = (more: object, change: object = {}): Record<string, unknown> => {
  const {
    $geoip_disable: _,
    $import_source: __,
    ...rest
  } = eventFrom(mapping, { ...record, ...change }, given(more)).properties;
  return rest;
};

describe('the declarative mapping', () => {
  it('converts the example of the format as documented', () => {
    expect(eventsOfExample(mapping)).toEqual(mapping.example.events);
  });

  it.each<[string, unknown, unknown]>([
    ['a column', 'a', 1],
    ['a path', 'b.c', 2],
    ['a path into a list', 'list.1', 'y'],
    ['a path into JSON text', 'json.x', 1],
    ['a path into JSON text within JSON text', 'deep.inner.y.1', 3],
    ['a path into a text that is no JSON', 'text.x', undefined],
    ['a path into broken JSON', 'broken.x', undefined],
    ['a column with a dot in its name', 'd.e', 3],
    ['a template', '{a}-{b.c}/x', '1-2/x'],
    ['a template with a gap', '{a}-{none}', undefined],
    ['a constant', { constant: { x: [1] } }, { x: [1] }],
    ['the first that is there', { first: ['none', 'empty', 'a'] }, 1],
    ['a default', { path: 'empty', default: 'standard' }, 'standard'],
    ['a table', { path: 'a', table: { 1: 'one' } }, 'one'],
    ['a table that makes nothing of it', { first: [{ path: 'a', table: { 1: null } }, 'b.c'] }, 2],
    ['a table without the value', { path: 'a', table: { 2: 'two' } }, undefined],
    ['a table with else', { path: 'a', table: { 2: 'two' }, else: 'other' }, 'other'],
    ['a table of nothing', { path: 'none', table: { 2: 'two' }, else: 'other' }, undefined],
    ['a table and a default', { path: 'a', table: { 2: 'two' }, default: 'd' }, 'd'],
    ['a number', { path: 'price', type: 'number' }, 12.5],
    ['no number', { path: 'text', type: 'number' }, undefined],
    ['a text', { path: 'a', type: 'text' }, '1'],
    ['a truth', { path: 'flag', type: 'boolean' }, true],
    ['JSON', { path: 'json', type: 'json' }, { x: 1 }],
    ['what every object has', 'constructor.name', undefined],
  ])('%s', (_name, rule, expected) => {
    const change = {
      a: 1,
      b: { c: 2 },
      list: ['x', 'y'],
      'd.e': 3,
      empty: '',
      price: '12.50',
      text: 'x',
      flag: 'Yes',
      json: '{"x":1}',
      deep: JSON.stringify({ inner: JSON.stringify({ y: [2, 3] }) }),
      broken: '{"x":1',
    };
    expect(own({ properties: { p: rule } }, change)['p']).toEqual(expected);
  });

  describe('each, of records that hold several events', () => {
    const each = given({ each: 'body.data', properties: { app: 'parent.app', n: 'n' } });
    const [one, two] = [
      { ...record, n: 1 },
      { ...record, n: 2 },
    ];

    it.each([
      ['a list', [one, two]],
      ['a list in JSON text', JSON.stringify([one, two])],
    ])('%s gives each of them, with the values of the enclosing record', (_name, data) => {
      const events = eventsFrom(mapping, { app: 'web', body: { data } }, each);
      expect(events).toMatchObject([
        { event: 'Order Done', properties: { app: 'web', n: 1 } },
        { event: 'Order Done', properties: { app: 'web', n: 2 } },
      ]);
      expect(new Set(events.map(({ uuid }) => uuid)).size).toBe(2);
    });

    it('a single object is one event; other columns are only those of the event', () => {
      const [event] = eventsFrom(mapping, { app: 'web', data: one }, given({ each: 'data' }));
      expect(event?.properties).toMatchObject({ n: 1 });
      expect(event?.properties).not.toHaveProperty('parent');
    });

    it('a record with an unreadable event is rejected as a whole, and one without events is rejected with that reason', () => {
      const broken = { body: { data: [one, { ...two, at: 'soon' }] } };
      expect(readAll(mapping, [broken, { body: { data: [] } }, { body: {} }], each)).toEqual([
        { kind: 'unreadable', reason: 'each[1]: timestamp: expected a time in the format given, got a text' },
        { kind: 'skipped', reason: 'a record without events' },
        { kind: 'unreadable', reason: 'each: expected a list of events, got nothing' },
      ]);
    });
  });

  it('texts that represent a missing value count as missing in every rule and among the other columns', () => {
    const change = { user: 'NULL', device: 'd1', plan: '\\N', note: 'null', list: ['NULL'] };
    const mapped = given({ nothing: ['NULL', '\\N'], distinct_id: { first: ['user', 'device'] } });
    const event = eventFrom(mapping, { ...record, ...change }, mapped);
    expect(event.distinct_id).toBe('d1');
    expect(event.properties).toMatchObject({ note: 'null', list: ['NULL'] });
    expect(event.properties).not.toHaveProperty('plan');
    expect(() => mapping.createReader(given({ nothing: 'NULL' }), mapping.names)).toThrow(/nothing: expected a list/);
  });

  it.each<[string, unknown, object, string]>([
    ['ISO and numbers without a format', 'at', { at: 1_614_834_367 }, '2021-03-04T05:06:07.000Z'],
    [
      'iso',
      { path: 'at', format: 'iso', zone: 'Europe/Berlin' },
      { at: '2021-03-04 06:06:07' },
      '2021-03-04T05:06:07.000Z',
    ],
    ['s', { path: 'at', format: 's' }, { at: '1614834367.25' }, '2021-03-04T05:06:07.250Z'],
    ['ms', { path: 'at', format: 'ms' }, { at: 1_614_834_367_089 }, '2021-03-04T05:06:07.089Z'],
    ['us', { path: 'at', format: 'us' }, { at: '1614834367089012' }, '2021-03-04T05:06:07.089012Z'],
    ['a pattern', { path: 'at', format: 'dd.MM.yyyy HH:mm' }, { at: '04.03.2021 05:06' }, '2021-03-04T05:06:00.000Z'],
    [
      'fractions',
      { path: 'at', format: 'yyyyMMddHHmmss.SSS' },
      { at: '20210304050607.089012' },
      '2021-03-04T05:06:07.089012Z',
    ],
    [
      'halves of the day',
      { path: 'at', format: 'M/d/yyyy h:mm a' },
      { at: '3/4/2021 12:06 AM' },
      '2021-03-04T00:06:00.000Z',
    ],
    ['names of months', { path: 'at', format: 'd MMM yyyy' }, { at: '4 Mar 2021' }, '2021-03-04T00:00:00.000Z'],
    [
      'offsets',
      { path: 'at', format: "yyyy-MM-dd'T'HH:mm:ssX", zone: 'Asia/Tokyo' },
      { at: '2021-03-04T05:06:07-0100' },
      '2021-03-04T06:06:07.000Z',
    ],
    [
      'two columns',
      { template: '{day} {at}', format: 'yyyy-MM-dd HH:mm' },
      { day: '2021-03-04', at: '05:06' },
      '2021-03-04T05:06:00.000Z',
    ],
    ['numbers as a pattern', { path: 'at', format: 'yyyyMMdd' }, { at: 20_210_304 }, '2021-03-04T00:00:00.000Z'],
  ])('times: %s', (_name, timestamp, change, expected) => {
    expect(eventFrom(mapping, { ...record, ...change }, given({ timestamp })).timestamp).toBe(expected);
  });

  it('columns without a rule become properties, unless properties are listed', () => {
    const change = { x: 1, y: { z: 2 }, empty: '', none: null };
    expect(own({}, change)).toEqual({ x: 1, y: { z: 2 }, empty: '' });
    expect(own({ properties: ['x', 'y.z'] }, change)).toEqual({ x: 1, 'y.z': 2 });
    expect(own({ properties: { a: 'y.z' }, others: true }, change)).toEqual({ a: 2, x: 1, y: { z: 2 }, empty: '' });
  });

  it('$set, $set_once and groups', () => {
    const more = { $set: { email: 'mail' }, $set_once: ['first'], groups: { company: 'org', team: 'none' } };
    expect(own(more, { mail: 'a@b.example', first: 'x', org: 7 })).toEqual({
      $set: { email: 'a@b.example' },
      $set_once: { first: 'x' },
      $groups: { company: '7' },
    });
  });

  it('$group_set creates a group profile from a row; without exactly one group, or with another event, it is rejected', () => {
    const more = { groups: { company: 'org' }, $group_set: { seats: 'n' } };
    const named = { ...more, event: { constant: '$groupidentify' } };
    expect(eventFrom(mapping, { ...record, org: 7, n: 3 }, given(named))).toMatchObject({
      event: '$groupidentify',
      properties: { $group_type: 'company', $group_key: '7', $groups: { company: '7' }, $group_set: { seats: 3 } },
    });
    const refused = (change: object, rules: object): unknown =>
      readAll(mapping, [{ ...record, ...change }], given(rules))[0];
    expect(refused({ n: 3 }, named)).toMatchObject({
      kind: 'unreadable',
      reason: expect.stringContaining('one group'),
    });
    expect(refused({ org: 7, n: 3 }, more)).toMatchObject({
      kind: 'unreadable',
      reason: expect.stringContaining('$groupidentify'),
    });
  });

  it('an id of the source determines the uuid, and a second file that numbers from 1 does not collide with the first', () => {
    const uuid = (more: object, change: object) => eventFrom(mapping, { ...record, ...change }, given(more)).uuid;
    const known = '7f3b2a10-5a6b-4c3d-9e8f-0123456789ab';
    expect(uuid({ uuid: 'id' }, { id: known })).toBe(known);
    expect(uuid({ uuid: 'id' }, { id: 1, x: 1 })).toBe(uuid({ uuid: 'id' }, { id: 1, x: 2 }));
    expect(uuid({ uuid: 'id' }, { id: 1 })).not.toBe(uuid({ uuid: 'id' }, { id: 2 }));
    expect(uuid({ uuid: 'id', source: 'a' }, { id: 1 })).not.toBe(uuid({ uuid: 'id', source: 'b' }, { id: 1 }));
    expect(uuid({ uuid: 'id' }, { id: 1 })).not.toBe(uuid({ uuid: 'id' }, { id: 1, user: 'u2' }));
  });

  it('an anonymous id is linked once, unless it equals the id or is a placeholder', () => {
    const records = ['a1', 'a1', 'u1', 'null', ''].map((visitor) => Object.assign({ visitor }, record));
    const events = eventsOf(readAll(mapping, records, given({ anonymous_id: 'visitor' })));
    expect(events.map(({ event }) => event)).toEqual(['$identify', ...Array<string>(5).fill('Order Done')]);
    expect(events[0]).toMatchObject({ distinct_id: 'u1', properties: { $anon_distinct_id: 'a1' } });
  });

  it('records are skipped by rule', () => {
    const skip = [{ if: 'kind', is: ['test', 3], reason: 'a test' }, { if: 'deleted' }];
    const records = [{ kind: 'test' }, { kind: '3' }, { deleted: 'yes' }, { kind: 'real', deleted: '' }];
    const results = readAll(
      mapping,
      records.map((each) => Object.assign(each, record)),
      given({ skip }),
    );
    expect(results.map((result) => (result.kind === 'skipped' ? result.reason : result.kind))).toEqual([
      'a test',
      'a test',
      'skip[1] of the mapping',
      'events',
    ]);
  });
});

describe('an invalid mapping is rejected with the place of the fault', () => {
  it.each<[string, string]>([
    ['', 'mapping: expected the rules as JSON'],
    ['{', 'mapping: expected JSON'],
    ['[]', 'mapping: expected a JSON object'],
    ['{"event":"a","timestamp":"b"}', 'mapping: distinct_id: expected a rule, got nothing'],
    [JSON.stringify({ ...rules, events: 'x' }), 'mapping: events: expected only event, distinct_id'],
    [JSON.stringify({ ...rules, event: {} }), 'mapping: event: expected one of path, constant, template, first'],
    [JSON.stringify({ ...rules, event: { path: 'a', first: ['b'] } }), 'mapping: event: expected one of'],
    [JSON.stringify({ ...rules, event: { path: 'a', tabel: {} } }), 'mapping: event: expected only path'],
    [
      JSON.stringify({ ...rules, event: { path: 'a', else: 1 } }),
      'mapping: event.else: expected it together with "table"',
    ],
    [JSON.stringify({ ...rules, event: { path: 'a', type: 'date' } }), 'mapping: event.type: expected text, number'],
    [JSON.stringify({ ...rules, event: '{a' }), 'mapping: event: expected a } for every {'],
    [JSON.stringify({ ...rules, uuid: 7 }), 'mapping: uuid: expected a column, a template or an object, got 7'],
    [JSON.stringify({ ...rules, properties: [7] }), 'mapping: properties[0]: expected the name of a column'],
    [
      JSON.stringify({ ...rules, properties: { a: { first: [] } } }),
      'mapping: properties.a.first: expected a list of rules',
    ],
    [
      JSON.stringify({ ...rules, timestamp: { path: 'a', format: 'HH:mm' } }),
      'mapping: timestamp.format: expected a pattern with a year',
    ],
    [
      JSON.stringify({ ...rules, timestamp: { path: 'a', format: 'yyyy-MM-dd QQ' } }),
      'mapping: timestamp.format: expected letters such as',
    ],
    [
      JSON.stringify({ ...rules, timestamp: { path: 'a', format: 'yyyy-MM-dd MM' } }),
      'mapping: timestamp.format: expected one month',
    ],
    [
      JSON.stringify({ ...rules, timestamp: { path: 'a', zone: 'Nowhere' } }),
      'mapping: timestamp.zone: expected a time zone',
    ],
    [JSON.stringify({ ...rules, skip: [{ is: 1 }] }), 'mapping: skip[0].if: expected a column'],
    [JSON.stringify({ ...rules, others: 'yes' }), 'mapping: others: expected true or false'],
  ])('%s', (text, message) => {
    expect(() => mapping.createReader({ mapping: text }, mapping.names)).toThrow(FormatOptionsError);
    expect(() => mapping.createReader({ mapping: text }, mapping.names)).toThrow(message);
  });
});

describe('arbitrary input', () => {
  it.each<[object, string]>([
    [{ name: {} }, 'event: expected a name, got an object'],
    [{ user: '' }, 'distinct_id: expected an id, got nothing'],
    [{ at: 'soon' }, 'timestamp: expected a time in the format given, got a text'],
    [{ id: ' ' }, 'uuid: expected an id, got nothing'],
  ])('%j is rejected as unreadable', (change, reason) => {
    expect(readAll(mapping, [{ ...record, id: 1, ...change }], given({ uuid: 'id' }))).toEqual([
      { kind: 'unreadable', reason },
    ]);
  });

  it.each([1, 2])('generated rows (seed %d) give the same events again, without losses or duplicates', (seed) => {
    const draw = createDraw(seed);
    const rows = Array.from({ length: 2000 }, (_, index) => ({
      ...record,
      user: `u${draw.int(200)}`,
      visitor: `v${draw.int(200)}`,
      at: 1_614_834_367 + index,
      [draw.pick(['a', 'b', '__proto__x'])]: draw.hex(4),
    }));
    const results = checkRecords(mapping, rows, given({ anonymous_id: 'visitor' }));
    expect(results.filter(({ kind }) => kind !== 'events')).toEqual([]);
  });

  it('becomes an event or is rejected with a reason, and no property name does harm', () => {
    const [example] = mapping.example.records;
    expect(new Set(readHostile(mapping, example as Record<string, unknown>))).toEqual(new Set(['unreadable']));
    expect(
      eventsFrom(mapping, JSON.parse(`{"__proto__":1,${JSON.stringify(record).slice(1)}`), given({})),
    ).toHaveLength(1);
  });
});

describe('values that look empty', () => {
  const rules = { event: 'e', distinct_id: 'u', timestamp: 't' };
  const record = { e: 'x', u: 'u1', t: '2024-01-01T00:00:00Z' };
  const read = (mapped: object, more: object): Readonly<Record<string, unknown>> =>
    eventFrom(mapping, { ...record, ...more }, { mapping: JSON.stringify(mapped) }).properties;

  it('an empty text, zero and false are properties, as in every other format; null is not', () => {
    const falsy = { empty: '', zero: 0, no: false, nothing: null };
    const kept = { empty: '', zero: 0, no: false };
    expect(read(rules, falsy)).toMatchObject(kept);
    expect(read({ ...rules, properties: Object.keys(falsy) }, falsy)).toMatchObject(kept);
    expect(read({ ...rules, $set: ['empty'] }, falsy)).toMatchObject({ $set: { empty: '' } });
    for (const mapped of [rules, { ...rules, properties: Object.keys(falsy) }])
      expect(Object.keys(read(mapped, falsy))).not.toContain('nothing');
    expect(Object.keys(read({ ...rules, nothing: [''] }, falsy))).not.toContain('empty');
  });

  it.each([45_292.5, '45292.5'])(
    'the serial date %j of a spreadsheet is refused by name, and read by format excel',
    (t) => {
      const [refused] = readAll(mapping, [{ ...record, t }], { mapping: JSON.stringify(rules) });
      expect(refused).toEqual({
        kind: 'unreadable',
        reason:
          'timestamp: expected a time, got what looks like the serial date of a spreadsheet; give "format": "excel" or "s"',
      });
      const excel = JSON.stringify({ ...rules, timestamp: { path: 't', format: 'excel' } });
      expect(eventFrom(mapping, { ...record, t }, { mapping: excel }).timestamp).toBe('2024-01-01T12:00:00.000Z');
    },
  );
});
