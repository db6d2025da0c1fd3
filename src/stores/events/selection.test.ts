import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseExact } from '../../base/exact-json.ts';
import type { EventSelection } from '../../wire/contract/event-selection.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import { EventRowWriter } from './rows.ts';
import { normalizeSelection, selectionConditions, selectionFilter, SelectionError } from './selection.ts';

const names = ['order placed', 'order_placed', 'order%placed', 'ORDER placed', 'back\\slash', 'a*b', 'ünïcode 🎉'];
const dayStart = Date.parse('2024-03-01T00:00:00Z') * 1000;
const long = '1234567890123456789';

let chdb: TempChdb;
beforeAll(async () => {
  chdb = await tempChdb();
  const writer = new EventRowWriter();
  names.forEach((event, n) => {
    writer.write({
      projectId: 1,
      historical: n % 2 === 0,
      receivedAtMicros: dayStart,
      timestampMicros: dayStart + n,
      keyDay: dayStart / 86_400_000_000,
      uuid: `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`,
      event,
      distinctId: `p'${n}`,
      properties: `{"n":${n},"id":${long.slice(0, -1)}${n}}`,
    });
  });
  await chdb.store.insertBatch(writer.take(), 'selection');
});
afterAll(() => chdb.close());

async function selected(selection: EventSelection): Promise<string[]> {
  // As a task keeps it.
  const kept = JSON.parse(JSON.stringify(normalizeSelection(selection))) as EventSelection;
  const { sql, params } = selectionConditions(1, selectionFilter(kept));
  const rows = await chdb.store.query<{ event: string }>(
    `SELECT event FROM events FINAL WHERE ${sql.join(' AND ')} ORDER BY timestamp`,
    params,
  );
  return rows.map(({ event }) => event);
}

it('names match as written, and * matches any characters', async () => {
  expect(await selected({ events: ['order_placed'] })).toEqual(['order_placed']);
  expect(await selected({ events: ['order%placed', 'back\\slash'] })).toEqual(['order%placed', 'back\\slash']);
  expect(await selected({ events: ['order*'] })).toEqual(['order placed', 'order_placed', 'order%placed']);
  expect(await selected({ events: ['*🎉', 'a*b'] })).toEqual(['a*b', 'ünïcode 🎉']);
});

it('values of properties keep every digit in a stored selection', async () => {
  const properties = parseExact(`[{"key":"id","value":${long.slice(0, -1)}3}]`) as NonNullable<
    EventSelection['properties']
  >;
  expect(await selected({ properties })).toEqual(['ORDER placed']);
  const above = parseExact(`[{"key":"id","operator":"gt","value":${long.slice(0, -1)}4}]`);
  expect(await selected({ properties: above as NonNullable<EventSelection['properties']> })).toEqual([
    'a*b',
    'ünïcode 🎉',
  ]);
  expect(await selected({ properties: [{ key: 'n', operator: 'is_not_set' }] })).toEqual([]);
});

it('ids, times and the historical mark select together', async () => {
  expect(await selected({ distinct_ids: ["p'2", "p'3"], historical_migration: true })).toEqual(['order%placed']);
  expect(await selected({ after: '2024-03-01T00:00:00.000005Z', before: '2024-03-01T00:00:00.000006Z' })).toEqual([
    'a*b',
  ]);
});

it.each([
  [{ after: 'soon' }, 'after'],
  [{ after: '2024-03-01', before: '2024-03-01' }, 'before'],
  [{ properties: [{ key: 'n', operator: 'like', value: 1 }] }, 'properties'],
])('%j is rejected, naming the field', (selection, attr) => {
  expect(() => normalizeSelection(selection)).toThrow(SelectionError);
  expect(() => normalizeSelection(selection)).toThrow(expect.objectContaining({ attr }) as Error);
});
