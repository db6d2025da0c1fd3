import { describe, expect, it } from 'vitest';
import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import { shareOfText } from '../../base/share-of-text.ts';
import { mapping } from '../formats/mapping/mapping.ts';
import type { RecordResult } from '../formats/format.ts';
import type { ReaderMemory } from '../formats/reader-memory.ts';
import { createChosenReader } from './chosen-reader.ts';

const rules = { event: 'name', distinct_id: 'user', timestamp: 'at', anonymous_id: 'visitor', uuid: 'id' };
const options = { mapping: JSON.stringify(rules) };
const create = (memory?: ReaderMemory) => mapping.createReader(options, mapping.names, memory);

function row(id: number, more: object = {}): object {
  return { id, name: 'Order Done', user: 'u1', at: '2024-03-01T12:00:00Z', ...more };
}

function chosenOf(records: readonly object[], choice: ImportChoice): RecordResult[] {
  return records.map(createChosenReader(create, choice, { now: Date.now() }));
}

function eventsOf(results: readonly RecordResult[]): readonly WireEvent[] {
  return results.flatMap((result) => (result.kind === 'events' ? result.events : []));
}

const namesOf = (results: readonly RecordResult[]): string[] => eventsOf(results).map(({ event }) => event);
const reasonsOf = (results: readonly RecordResult[]): string[] =>
  results.flatMap((result) => (result.kind === 'unreadable' ? [] : (result.chosen?.leftOut ?? [])));

describe('a choice of what to import', () => {
  it('without a choice, records pass through the format’s own reader unchanged and uncounted', () => {
    const [result] = [row(1)].map(createChosenReader(create, undefined, { now: Date.now() }));
    expect(result).toEqual(create()(row(1)));
  });

  it('a time range is half open, by the event’s own time to the microsecond', () => {
    const times = ['2024-02-29T23:59:59.999999Z', '2024-03-01', '2024-03-31T23:59:59.999999Z', '2024-04-01T00:00:00Z'];
    const results = chosenOf(
      times.map((at, id) => row(id, { at })),
      { time: { from: '2024-03-01T00:00:00Z', to: '2024-04-01' } },
    );
    expect(results.map(({ kind }) => kind)).toEqual(['skipped', 'events', 'events', 'skipped']);
    expect(reasonsOf(results)).toEqual(['before the time range', 'after the time range']);
  });

  it('the offset of a range applies, and unreadable records stay unreadable', () => {
    const results = chosenOf([row(1, { at: '2024-03-01T10:30:00Z' }), row(2, { at: 'soon' })], {
      time: { from: '2024-03-01T12:00:00+02:00' },
    });
    expect(results.map(({ kind }) => kind)).toEqual(['events', 'unreadable']);
  });

  it.each<[string, NonNullable<ImportChoice['events']>, string[]]>([
    ['exact names', { only: ['Order Done', 'a*b'] }, ['Order Done', 'a*b', 'aXb']],
    ['a name that is a prefix of another', { only: ['Order'] }, []],
    ['a pattern at the end', { only: ['Order *'] }, ['Order Done', 'Order Gone']],
    ['a pattern at the beginning', { only: ['*one'] }, ['Order Done', 'Order Gone']],
    ['a pattern within', { only: ['O*D*e'] }, ['Order Done']],
    ['pieces that must not overlap', { only: ['Order Do*one'] }, []],
    ['all but some', { except: ['Order *'] }, ['a*b', 'aXb', '[x].y']],
    [
      'a name in both lists is excluded',
      { only: ['*'], except: ['Order Done'] },
      ['Order Gone', 'a*b', 'aXb', '[x].y'],
    ],
    ['characters that are special in regular expressions', { only: ['[x].y'] }, ['[x].y']],
  ])('a list of events: %s', (_name, events, expected) => {
    const records = ['Order Done', 'Order Gone', 'a*b', 'aXb', '[x].y'].map((name, id) => row(id, { name }));
    expect(namesOf(chosenOf(records, { events }))).toEqual(expected);
  });

  it('a sample keeps all events of a person or none, always the same persons, and more of them as it grows', () => {
    const records = Array.from({ length: 4000 }, (_, id) => row(id, { user: `user-${id % 1000}` }));
    const users = (sample: number): Set<string> =>
      new Set(eventsOf(chosenOf(records, { sample })).map(({ distinct_id }) => distinct_id));
    const tenth = users(0.1);
    expect(eventsOf(chosenOf(records, { sample: 0.1 }))).toHaveLength(tenth.size * 4);
    expect([...tenth].every((id) => shareOfText(id) <= 0.1)).toBe(true);
    expect(tenth.size).toBeGreaterThan(60);
    expect(tenth.size).toBeLessThan(140);
    const fifth = users(0.2);
    expect([...tenth].filter((id) => !fifth.has(id))).toEqual([]);
  });

  it('a device is linked to its user at the first event that is kept, not at an excluded one', () => {
    const records = [
      row(1, { at: '2024-01-01', visitor: 'v1' }),
      row(2, { at: '2024-03-01', visitor: 'v1' }),
      row(3, { at: '2024-03-02', visitor: 'v1' }),
    ];
    const results = chosenOf(records, { time: { from: '2024-02-01' } });
    expect(namesOf(results)).toEqual(['$identify', 'Order Done', 'Order Done']);
    expect(eventsOf(results)[0]).toMatchObject({ timestamp: '2024-03-01T00:00:00.000Z', distinct_id: 'u1' });
    expect(namesOf(chosenOf(records, { events: { only: ['Order *'] } }))[0]).toBe('$identify');
  });

  it('kept events have the same ids as without a choice, even where rows differ only in their order', () => {
    const whole = { mapping: JSON.stringify({ event: 'name', distinct_id: 'user', timestamp: 'at' }) };
    const rows = [0, 1, 0, 1, 1].map((user) => ({ name: 'e', user: `u${user}`, at: '2024-03-01' }));
    const reader = (memory: ReaderMemory) => mapping.createReader(whole, mapping.names, memory);
    const all = eventsOf(rows.map(createChosenReader(reader, undefined, { now: Date.now() })));
    const some = eventsOf(rows.map(createChosenReader(reader, { sample: shareOfText('u0') }, { now: Date.now() })));
    const ids = (events: readonly WireEvent[]): string[] => events.map(({ uuid }) => uuid);
    const taken = all.filter(({ distinct_id: id }) => shareOfText(id) <= shareOfText('u0'));
    expect(ids(some)).toEqual(ids(taken));
    expect(new Set(ids(some)).size).toBe(some.length);
  });

  it('links that are records of the source follow the list and are counted separately', () => {
    const results = chosenOf([row(1, { name: '$identify' }), row(2)], { events: { only: ['Order *'] } });
    expect(reasonsOf(results)).toEqual(['link between ids that is not in the list of events']);
  });
});
