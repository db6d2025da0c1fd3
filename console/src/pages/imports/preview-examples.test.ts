import { expect, it } from 'vitest';
import { examplesOf, firstEventName } from './preview-examples.ts';

const eventOf = (event: string) => ({
  event: { uuid: '', event, distinct_id: 'ada', timestamp: '2026-01-05T10:00:00.000Z', properties: {} },
  violations: [],
  refused: null,
});
const dropped = { event: null, violations: [], refused: null };
const records = [
  { record: 1, events: [] },
  { record: 2, events: [dropped] },
  { record: 3, events: [eventOf('$identify'), eventOf('Search')] },
  { record: 4, events: [eventOf('Search'), eventOf('Login')] },
];

it('the first example shown is the event of a record, not the link of its ids', () => {
  expect(firstEventName(records)).toBe('Search');
  expect(firstEventName(records.slice(0, 2))).toBeUndefined();
});

it('the example of a name is its first record', () => {
  const shown = [...examplesOf(records)].map(([name, { record }]) => [name, record]);
  expect(shown).toEqual([
    ['$identify', 3],
    ['Search', 3],
    ['Login', 4],
  ]);
});
