/** The account of `npm run prove -- storm` sees what a storm looks for: without these tests a proof that finds nothing shows nothing. */
import { describe, expect, it } from 'vitest';
import { makeEvent, type StormEvent } from '../tools/prove/storm/events.ts';
import { differencesOfLines, StormLedger, type StoredEvent } from '../tools/prove/storm/ledger.ts';
import { personLine, PersonOracle } from '../tools/prove/storm/persons.ts';
import { createDraw } from './support/draw.ts';

const draw = createDraw(1);
const eventsOf = (batch: number): StormEvent[] =>
  Array.from({ length: 5 }, (_, index) => makeEvent(draw, { epoch: 0, number: batch * 5 + index, batch }));

/** As the service stores it. */
function stored({ uuid, ...event }: StormEvent, isHistorical = false): StoredEvent {
  const added = { marked: true, $ip: '127.0.0.1', $plugins_succeeded: ['counting (1)'], $plugins_failed: [] };
  return { ...event, id: uuid, historical_migration: isHistorical, properties: { ...event.properties, ...added } };
}

/** Two batches that were acknowledged, the second one of history, and what is stored of them. */
function world(): { ledger: StormLedger; rows: StoredEvent[]; ids: ReadonlySet<string> } {
  const ledger = new StormLedger();
  const [live, history] = [eventsOf(1), eventsOf(2)];
  ledger.noteAcknowledged({ number: 1, isHistorical: false, events: live });
  ledger.noteAcknowledged({ number: 2, isHistorical: true, events: history });
  const rows = [...live.map((event) => stored(event)), ...history.map((event) => stored(event, true))];
  return { ledger, rows, ids: ledger.epochIds };
}

describe('the account of a storm', () => {
  it('finds nothing if all acknowledged events are stored', () => {
    const { ledger, rows, ids } = world();
    expect(ledger.differencesOfEvents(ids, rows)).toEqual([]);
    expect(ledger.differencesOfEvents(ledger.acknowledged.keys(), rows.toReversed())).toEqual([]);
    expect(ledger.counts).toEqual({ standard: 5, historical: 5 });
  });

  const first = ([row]: StoredEvent[]): StoredEvent => {
    if (row === undefined) throw new Error('expected a row');
    return row;
  };
  const changed = (rows: StoredEvent[], change: (row: StoredEvent) => Partial<StoredEvent>): StoredEvent[] => [
    { ...first(rows), ...change(first(rows)) },
    ...rows.slice(1),
  ];
  const withProperties = (rows: StoredEvent[], properties: object): StoredEvent[] =>
    changed(rows, (row) => ({ properties: { ...row.properties, ...properties } }));

  it.each<[string, (rows: StoredEvent[]) => StoredEvent[], RegExp]>([
    ['an event that was acknowledged and is lost', (rows) => rows.slice(1), /^acknowledged and lost: /],
    ['an event that is stored twice', (rows) => [...rows, first(rows)], /^stored twice: /],
    [
      'an event that was never sent',
      (rows) => [...rows, stored(eventsOf(3)[0] ?? makeEvent(draw, { epoch: 0, number: 99 }))],
      /^never acknowledged: /,
    ],
    ['an event of another person', (rows) => changed(rows, () => ({ distinct_id: 'other' })), /^stored otherwise: /],
    [
      'an event of another time',
      (rows) => changed(rows, () => ({ timestamp: '2020-01-01T00:00:00Z' })),
      /^stored otherwise: /,
    ],
    [
      'an event in the other lane',
      (rows) => changed(rows, () => ({ historical_migration: true })),
      /^stored otherwise: /,
    ],
    ['a property that was changed', (rows) => withProperties(rows, { n: -1 }), /^stored otherwise: /],
    ['a property that was never sent', (rows) => withProperties(rows, { more: 1 }), /^stored otherwise: /],
    ['an event that was not transformed', (rows) => withProperties(rows, { marked: undefined }), /^not transformed: /],
    [
      'a transformation that failed',
      (rows) => withProperties(rows, { $plugins_failed: ['counting (1)'] }),
      /^not transformed: /,
    ],
  ])('finds %s', (_name, change, difference) => {
    const { ledger, rows, ids } = world();
    expect(ledger.differencesOfEvents(ids, change(rows))).toEqual([expect.stringMatching(difference)]);
  });

  it('finds lost or changed events of earlier epochs', () => {
    const { ledger, rows } = world();
    ledger.endEpoch();
    const all = (): Iterable<string> => ledger.acknowledged.keys();
    expect(ledger.differencesOfEvents(all(), rows)).toEqual([]);
    expect(ledger.differencesOfEvents(all(), rows.slice(1))).toHaveLength(1);
    expect(ledger.differencesOfEvents(all(), withProperties(rows, { n: -1 }))).toHaveLength(1);
  });

  it('finds batches that a transformation counted too often, partly or not at all, except retried ones', () => {
    const { ledger } = world();
    const again = { number: 3, isHistorical: false, events: eventsOf(3) };
    ledger.noteUnanswered(again);
    ledger.noteAcknowledged(again);
    const wrong = (counts: Record<string, number>): string[] => ledger.differencesOfCounts(counts);
    expect(wrong({ 1: 5, 2: 5, 3: 5 })).toEqual([]);
    expect(wrong({ 1: 5, 2: 5, 3: 10 })).toEqual([]);
    expect(wrong({ 1: 10, 2: 5, 3: 15 })).toHaveLength(2);
    expect(wrong({ 1: 4, 2: 5, 3: 7 })).toHaveLength(2);
    expect(wrong({ 2: 5, 3: 5, 9: 5 })).toHaveLength(2);
  });
});

describe('the oracle of persons', () => {
  const at = (second: number): string => `2024-01-01T00:00:0${second}.000Z`;
  const event = (distinct_id: string, second: number, properties: object): StormEvent => ({
    event: 'x',
    uuid: draw.uuid(),
    distinct_id,
    timestamp: at(second),
    properties: { epoch: 0, ...properties },
  });
  const history = [
    event('u', 1, { $set: { a: 1, gone: 1 }, $set_once: { first: 1 } }),
    event('anon', 2, { $set: { b: 2 } }),
    event('u', 3, { $set: { a: 3 }, $unset: ['gone'] }),
    event('u', 4, { $anon_distinct_id: 'anon' }),
    event('u', 5, { alias: 'name', $set_once: { first: 5 } }),
    event('other', 6, {}),
  ];
  const expected = [
    personLine({ distinct_ids: ['other'], properties: {}, created_at: at(6), is_identified: false }),
    personLine({
      distinct_ids: ['u', 'name', 'anon'],
      properties: { first: 1, b: 2, a: 3 },
      created_at: at(1),
      is_identified: true,
    }),
  ].sort();

  it.each([
    ['in order', history],
    ['the other way round', history.toReversed()],
    ['twice', [...history, ...history]],
  ])('says what must come of events %s', (_name, events) => {
    const oracle = new PersonOracle();
    for (const each of events) oracle.learn(each);
    expect(oracle.lines()).toEqual(expected);
  });

  it('missing, extra and duplicate lines are differences', () => {
    expect(differencesOfLines('person', expected, expected)).toEqual([]);
    expect(differencesOfLines('person', expected, expected.slice(1))).toHaveLength(1);
    expect(differencesOfLines('person', expected, [...expected, 'more'])).toHaveLength(1);
    expect(differencesOfLines('person', expected, [...expected, ...expected.slice(1)])).toHaveLength(1);
  });
});
