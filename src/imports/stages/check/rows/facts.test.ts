import { describe, expect, it } from 'vitest';
import { decodeRows } from '../../../../../test/support/event-store-double.ts';
import { parseExactValues } from '../../../../base/exact-json.ts';
import { convertedRows } from '../../../../../test/support/converted-rows.ts';
import { createSegmentRows } from './segment-rows.ts';

const of = { projectId: 3, runId: 'run-1' };
const start = Date.parse('2024-03-01T10:00:00Z') * 1000;
const uuid = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

interface TestEvent {
  readonly event?: string;
  readonly id?: string;
  /** Seconds after `start`. */
  readonly at?: number;
  readonly place?: number;
  /** JSON of the properties. */
  readonly text?: string;
}

const noSums = { name: 0, sumLow: 0, sumHigh: 0, contentLow: 0, contentHigh: 0 };

/** Returns facts as `number second event properties`, without the mark of the run, in order of time. */
function factsOf(events: readonly TestEvent[], path: 'read' | 'converted' = 'read'): string[] {
  const segment = createSegmentRows({ ...of, wantsFacts: true });
  const [ids, shapes] = [new Map<string, number>(), new Map<string, number>()];
  for (const [index, { event = 'seen', id = 'ann', at = index, place = index, text = '{}' }] of events.entries()) {
    const micros = start + at * 1_000_000;
    const own = { uuid: uuid(index), event, distinctId: id };
    if (path === 'read') {
      const properties = parseExactValues(text) as Record<string, unknown>;
      segment.add({ ...own, text, properties }, { ...noSums, micros, place });
    } else segment.addConverted(convertedRows([{ ...own, micros, place, text }], ids, shapes));
  }
  const { facts } = segment.take(['seen']);
  const rows = facts === undefined ? [] : decodeRows(facts);
  expect(segment.take([]).facts?.rows).toBe(0);
  return rows
    .toSorted((a, b) => a.micros - b.micros || a.receivedAtMicros - b.receivedAtMicros)
    .map((row) => {
      expect(row).toMatchObject({ projectId: 3, historical: true, importRun: 'run-1', day: 19_783 });
      const properties = row.properties.replace(/,?"\$import_run_id":"run-1"\}$/, '}');
      return `${Number(row.uuid.slice(-4))} ${(row.micros - start) / 1_000_000} ${row.event} ${properties}`;
    });
}

describe.each(['read', 'converted'] as const)('facts of %s events', (path) => {
  it.each<[string, TestEvent[], string[]]>([
    ['the first event of an id creates its person', [{}, {}, { id: 'bob' }, {}], ['0 0 seen {}', '2 2 seen {}']],
    ['the first is the earliest', [{ at: 9 }, { at: 3 }, { at: 5 }], ['1 3 seen {}']],
    [
      'the latest $set of the same keys is kept, regardless of other properties',
      [
        { text: '{"a":1,"$set":{"plan":"free"}}' },
        { text: '{"a":2,"$set":{"plan":"pro"}}' },
        { text: '{"$set":{"plan":"free"}}' },
        { at: 1, text: '{"$set":{"plan":"old"}}' },
      ],
      ['0 0 seen {}', '2 2 seen {"$set":{"plan":"free"}}'],
    ],
    [
      'the first $set_once of the same keys is kept, and an empty one in addition',
      [
        { at: 5, text: '{"$set_once":{"from":"mail"}}' },
        { at: 4, text: '{"$set_once":{"from":"ad"}}' },
        { at: 3, text: '{"$set_once":{"from":null}}' },
      ],
      ['2 3 seen {"$set_once":{"from":null}}', '1 4 seen {"$set_once":{"from":"ad"}}'],
    ],
    [
      'a $set between two equal ones is kept, and so is an $unset',
      [
        { text: '{"$set":{"a":1}}' },
        { text: '{"$unset":["a"]}' },
        { text: '{"$set":{"a":1,"b":2}}' },
        { text: '{"$set":{"a":1}}' },
      ],
      ['0 0 seen {}', '1 1 seen {"$unset":["a"]}', '2 2 seen {"$set":{"a":1,"b":2}}', '3 3 seen {"$set":{"a":1}}'],
    ],
    [
      'all $set at the same time are kept, until a later one',
      [
        { at: 1, text: '{"$set":{"a":1}}' },
        { at: 1, text: '{"$set":{"a":2}}' },
        { at: 0, text: '{"$set":{"a":3}}' },
        { at: 1, text: '{"$set":{"a":1}}' },
        { at: 2, id: 'bob', text: '{"$set":{"a":1}}' },
        { at: 2, id: 'bob', text: '{"$set":{"a":2}}' },
        { at: 3, id: 'bob', text: '{"$set":{"a":2}}' },
      ],
      [
        '2 0 seen {}',
        '0 1 seen {"$set":{"a":1}}',
        '1 1 seen {"$set":{"a":2}}',
        '3 1 seen {"$set":{"a":1}}',
        '4 2 seen {}',
        '6 3 seen {"$set":{"a":2}}',
      ],
    ],
    [
      'every digit is kept, and the properties of one event share a fact',
      [{ text: '{"n":1,"$set":{"id":12345678901234567890},"$set_once":{"x":1.5},"$unset":["y"]}' }],
      ['0 0 seen {"$set":{"id":12345678901234567890},"$set_once":{"x":1.5},"$unset":["y"]}'],
    ],
    [
      'properties that are not objects are ignored',
      [{ text: '{"$set":[1],"$set_once":"x","$unset":7}' }],
      ['0 0 seen {}'],
    ],
    [
      '$exception creates a person and changes no property',
      [{ event: '$exception', text: '{"$set":{"a":1}}' }],
      ['0 0 $exception {}'],
    ],
    ['an id in any language', [{ id: 'Zoë' }, { id: 'Zoë' }, { id: '李' }], ['0 0 seen {}', '2 2 seen {}']],
  ])('%s', (_, events, expected) => {
    expect(factsOf(events, path)).toEqual(expected);
  });
});

describe('facts', () => {
  it('contain every event that merges or concerns a group, with all relevant properties', () => {
    const link = {
      event: '$identify',
      text: '{"x":1,"$anon_distinct_id":"d","$import_identity":"merge","$set":{"a":1}}',
    };
    expect(
      factsOf([
        link,
        link,
        { event: '$create_alias', text: '{"alias":12345678901234567890,"url":"/"}' },
        { event: '$groupidentify', text: '{"$group_type":"company","$group_key":"acme","$group_set":{"a":1},"z":0}' },
        { event: '$identify', text: '{"$process_person_profile":false}' },
      ]),
    ).toEqual([
      '0 0 $identify {"$set":{"a":1},"$anon_distinct_id":"d","$import_identity":"merge"}',
      '1 1 $identify {"$set":{"a":1},"$anon_distinct_id":"d","$import_identity":"merge"}',
      '2 2 $create_alias {"alias":12345678901234567890}',
      '3 3 $groupidentify {"$group_type":"company","$group_key":"acme","$group_set":{"a":1}}',
      '4 4 $identify {"$process_person_profile":false}',
    ]);
  });

  it('reduce an $identify without another id like other events', () => {
    const sets = { event: '$identify', text: '{"$set":{"a":1}}' };
    expect(factsOf([sets, sets, sets])).toEqual(['0 0 $identify {}', '2 2 $identify {"$set":{"a":1}}']);
  });

  it('contain the first event of an id that names a group type, even one without a profile, whose other properties are omitted', () => {
    expect(
      factsOf([
        { text: '{"$groups":{"company":""}}' },
        { text: '{"$process_person_profile":false,"$set":{"a":1},"$groups":{"company":"acme"}}' },
        { text: '{"$process_person_profile":false,"$set":{"a":2}}' },
        { text: '{"$groups":{"team":7,"company":"other"}}' },
        { text: '{"$groups":{"team":8}}' },
      ]),
    ).toEqual([
      '0 0 seen {}',
      '1 1 seen {"$process_person_profile":false,"$groups":{"company":"acme"}}',
      '3 3 seen {"$groups":{"team":7,"company":"other"}}',
    ]);
  });

  it('compare an event only with the newest of many kinds of $set of its id', () => {
    const events = Array.from({ length: 300 }, (_, at) => ({ text: `{"$set":{"k${at % 100}":${at}}}` }));
    expect(factsOf(events)).toHaveLength(300);
  });
});
