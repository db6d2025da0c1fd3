import { describe, expect, it } from 'vitest';
import { filterIn, filterSetting, filterSummary } from './event-filter.ts';

describe('the filter of a transformation in the form', () => {
  it.each([
    [{ events: ['order *'] }, 'order *'],
    [{ events: ['a', 'b'], properties: [{ property: 'plan', operator: 'is', value: 'pro' }] }, 'a, b · plan is pro'],
    [
      {
        properties: [
          { property: 'n', operator: 'gt', value: '5' },
          { property: 'm', operator: 'is_set' },
        ],
        match: 'any',
      },
      'n > 5 or m is set',
    ],
  ])('%j stays as it is, and is described', ($filter, summary) => {
    const filter = filterIn({ $filter });
    expect(filter && filterSetting(filter)).toEqual($filter);
    expect(filterSummary({ $filter })).toBe(summary);
  });

  it('the default operator and a number as value are shown', () => {
    const filter = filterIn({ $filter: { properties: [{ property: 'n', value: 5 }] } });
    expect(filter?.properties).toEqual([{ property: 'n', operator: 'is', value: '5' }]);
  });

  it('without names and conditions it is cleared', () => {
    expect(filterIn({})).toEqual({ events: [], properties: [], match: 'all' });
    expect(filterSetting({ events: [], properties: [], match: 'any' })).toBe('');
    expect(filterSummary({})).toBe('');
  });

  it.each([
    ['a list of values', { properties: [{ property: 'a', value: ['1', '2'] }] }],
    ['text', '{"events": ["a"]}'],
    ['an unknown member', { names: ['a'] }],
    ['an unknown operator', { properties: [{ property: 'a', operator: 'like', value: '1' }] }],
  ])('%s is left to the JSON editor', (_name, $filter) => {
    expect(filterIn({ $filter })).toBeUndefined();
    expect(filterSummary({ $filter })).toBe('some events');
  });
});
