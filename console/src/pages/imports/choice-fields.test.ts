import { describe, expect, it } from 'vitest';
import { choiceSetting, choiceWords, percentOf, readChoice, shareOf } from './choice-fields.ts';

describe('the selection of an import', () => {
  it('is read from JSON and from JSON text', () => {
    expect(readChoice('{"sample":0.1}')).toEqual({ sample: 0.1 });
    expect(readChoice({ sample: 0.1 })).toEqual({ sample: 0.1 });
    expect(readChoice('')).toEqual({});
    expect(readChoice('[')).toBeUndefined();
  });

  it('omits empty parts, and clears the setting when all parts are empty', () => {
    expect(choiceSetting({ events: { only: [] }, time: { from: '' }, properties: { rename: {} } })).toBe('');
    expect(choiceSetting({ events: { only: ['a'], except: [] }, sample: 0.5 })).toEqual({
      events: { only: ['a'] },
      sample: 0.5,
    });
  });

  it('keeps null and empty strings in value tables', () => {
    const values = { plan: { '1': null, '2': '' } };
    expect(choiceSetting({ properties: { values, except: [] } })).toEqual({ properties: { values } });
  });

  it.each([
    ['7', 0.07, '7'],
    ['10 %', 0.1, '10'],
    ['0.3', 0.003, '0.3'],
    ['100', undefined, ''],
    ['', undefined, ''],
    ['0', undefined, ''],
    ['x', undefined, ''],
  ])('a sample of persons as a percentage: %s', (percent, share, shown) => {
    expect(shareOf(percent)).toBe(share);
    expect(percentOf(share)).toBe(shown);
  });

  it('is summarised', () => {
    expect(choiceWords({ time: { from: '2024-01-01' }, events: { only: ['a', 'b'] }, sample: 0.1 })).toEqual([
      'from 2024-01-01',
      'events: only 2',
      '10% of persons',
    ]);
    expect(choiceWords({})).toEqual([]);
  });
});
