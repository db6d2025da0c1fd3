import { describe, expect, it } from 'vitest';
import {
  columnsOf,
  emptyRows,
  guessRows,
  isComplete,
  mappingOf,
  rowsOfMapping,
  type MappingRows,
} from './mapping-rules.ts';

const rows: MappingRows = {
  ...emptyRows,
  event: { kind: 'constant', value: 'Order' },
  distinct_id: { kind: 'path', value: '{shop}-{user.id}' },
  timestamp: { kind: 'path', value: 'at', format: 'ms', zone: 'Europe/Berlin' },
  properties: [{ name: 'total', path: 'sum.gross' }],
};

describe('mapping rows', () => {
  it('convert to rules and back to the same rows', () => {
    const mapping = mappingOf(rows);
    expect(mapping).toEqual({
      event: { constant: 'Order' },
      distinct_id: { template: '{shop}-{user.id}' },
      timestamp: { path: 'at', format: 'ms', zone: 'Europe/Berlin' },
      properties: { total: 'sum.gross' },
    });
    expect(rowsOfMapping(mapping)).toEqual(rows);
  });

  it('are not available for mappings that rows cannot represent', () => {
    expect(rowsOfMapping({ ...mappingOf(rows), skip: [] })).toBeUndefined();
    expect(rowsOfMapping({ ...mappingOf(rows), event: { path: 'kind', table: { 1: 'a' } } })).toBeUndefined();
    expect(rowsOfMapping({ ...mappingOf(rows), properties: { a: { constant: 1 } } })).toBeUndefined();
  });

  it('are guessed from the columns, and are complete only with event, person and time', () => {
    const columns = columnsOf([{ kind: 'a', user: { id: 1, plan: {} } }, { at: 5 }]);
    expect(columns).toEqual(['kind', 'user', 'user.id', 'user.plan', 'at']);
    const guessed = guessRows(columns);
    expect([guessed.event.value, guessed.distinct_id.value, guessed.timestamp.value]).toEqual([
      'kind',
      'user.id',
      'at',
    ]);
    expect([isComplete(guessed), isComplete(emptyRows)]).toEqual([true, false]);
  });

  it.each<[Partial<MappingRows>, object]>([
    [{ records: 'persons' }, {}],
    [{ records: 'persons', keepsValues: true }, { others: '$set_once' }],
    [{ records: 'persons', properties: [{ name: 'mail', path: 'email' }] }, { $set: { mail: 'email' } }],
    [
      { records: 'persons', keepsValues: true, properties: [{ name: 'mail', path: 'email' }] },
      { $set_once: { mail: 'email' }, others: false },
    ],
  ])('of persons convert to rules and back: %j', (change, more) => {
    const anonymous_id = { kind: 'path', value: 'device' } as const;
    const timestamp = { kind: 'constant', value: '2026-11-28', format: '', zone: '' } as const;
    const given = {
      ...emptyRows,
      distinct_id: { kind: 'path', value: 'id' } as const,
      anonymous_id,
      timestamp,
      ...change,
    };
    const mapping = mappingOf(given);
    expect(mapping).toEqual({
      records: 'persons',
      distinct_id: { path: 'id' },
      anonymous_id: { path: 'device' },
      timestamp: { constant: '2026-11-28' },
      ...more,
    });
    expect(rowsOfMapping(mapping)).toEqual(given);
    expect(rowsOfMapping({ ...mapping, $set: ['a'], others: true })).toBeUndefined();
  });

  it('of groups convert to rules and back', () => {
    const given = { ...guessRows(['id', 'updated_at'], 'groups'), groupType: 'company' };
    const mapping = mappingOf(given);
    expect(mapping).toEqual({
      records: 'groups',
      groups: { company: { path: 'id' } },
      timestamp: { path: 'updated_at' },
    });
    expect(rowsOfMapping(mapping)).toEqual(given);
    expect(isComplete(given)).toBe(true);
    expect(isComplete({ ...given, groupType: ' ' })).toBe(false);
  });

  it('of persons without a column of times take the day that is shown', () => {
    const guessed = guessRows(['id', 'email'], 'persons', '2026-11-28');
    expect([guessed.distinct_id.value, guessed.timestamp]).toEqual([
      'id',
      { kind: 'constant', value: '2026-11-28', format: '', zone: '' },
    ]);
    expect(isComplete(guessed)).toBe(true);
  });
});
