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
});
