import { describe, expect, it } from 'vitest';
import { splitLargeParams } from './large-params.ts';

const fieldBytesMax = 131_072;

describe('large parameters of a ClickHouse server', () => {
  it('a statement with small values stays unchanged', () => {
    const params = { ids: ['a', "b'\\"], text: 'x'.repeat(1000), n: 5 };
    expect(splitLargeParams('SELECT {ids:Array(String)}, {text:String}, {n:Int32}', params)).toEqual({
      sql: 'SELECT {ids:Array(String)}, {text:String}, {n:Int32}',
      params,
    });
  });

  it('a large list is bound as pieces of its text, at every occurrence', () => {
    const ids = Array.from({ length: 10_000 }, (_, i) => `person-${i}`);
    const { sql, params } = splitLargeParams(
      'SELECT {ids:Array(String)} WHERE x IN {ids:Array(String)} AND y = {n:Int32}',
      { ids, n: 5 },
    );
    const pieces = Object.keys(params).filter((name) => name !== 'n');
    const list = `CAST(concat(${pieces.map((name) => `{${name}:String}`).join(', ')}), 'Array(String)')`;
    expect(pieces.length).toBeGreaterThan(1);
    expect(sql).toBe(`SELECT ${list} WHERE x IN ${list} AND y = {n:Int32}`);
    expect(pieces.map((name) => params[name]).join('')).toBe(`['${ids.join("','")}']`);
  });

  it('no piece exceeds the limit of a field, for any content, and none splits a character', () => {
    for (const text of ['鞋', '👟', "\\'", '\t', 'a👟']) {
      const { params } = splitLargeParams('SELECT {s:String}', { s: text.repeat(100_000) });
      const pieces = Object.values(params) as string[];
      expect(pieces.join('')).toBe(text.repeat(100_000));
      expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
      // Each ASCII byte may be sent with an escape.
      const bytes = pieces.map((piece) => Buffer.byteLength(piece.replace(/[\0-\x7f]/g, '$&$&')));
      expect(Math.max(...bytes)).toBeLessThan(fieldBytesMax);
    }
  });
});
