import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { filterOut } from './filter-out.ts';
import { parsed, transform } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';

const filter = (type: string, operator: string, value: JsonValue, property = 'p') => ({
  property,
  type,
  operator,
  value,
});

function keeps(filters: JsonValue, properties: JsonObject, more: Record<string, string> = {}): boolean {
  return transform(filterOut, { filtersJson: JSON.stringify(filters), ...more }, { properties }) !== null;
}

function attached(text: string) {
  const file = { fileName: 'f.json', contentType: 'application/json', content: Buffer.from(text) };
  return testHost({ attachments: new Map([['filters', file]]) });
}

describe('filter out', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = filterOut.example;
    expect(transform(filterOut, settings, before)).toEqual(after);
  });

  it.each<[string, string, JsonValue, JsonValue, boolean]>([
    ['string', 'is', 'x', 'x', true],
    ['string', 'is', '5', 5, false],
    ['string', 'is_not', 'x', 'y', true],
    ['string', 'is_not', 'x', 'x', false],
    ['string', 'contains', 'b', 'abc', true],
    ['string', 'contains', 'b', ['a', 'b'], true],
    ['string', 'contains', 'b', 5, false],
    ['string', 'not_contains', 'b', 'abc', false],
    ['string', 'not_contains', 'b', null, true],
    ['string', 'regex', '^a.c$', 'abc', true],
    ['string', 'regex', '^5$', 5, true],
    ['string', 'not_regex', '^a', 'abc', false],
    ['string', 'not_regex', '^a', 'b', true],
    ['number', 'gt', 5, 6, true],
    ['number', 'gt', 5, 5, false],
    ['number', 'gt', 5, '6', true],
    ['number', 'gte', 5, 5, true],
    ['number', 'lt', 5, 4, true],
    ['number', 'lt', 5, null, false],
    ['number', 'lt', 5, 'few', false],
    ['number', 'lte', 5, 5, true],
    ['number', 'eq', 5, 5, true],
    ['number', 'eq', 5, '5', false],
    ['number', 'neq', 5, 6, true],
    ['boolean', 'is', true, true, true],
    ['boolean', 'is', true, 'true', false],
    ['boolean', 'is_not', true, false, true],
  ])('%s %s %j of %j: kept is %s', (type, operator, value, property, expected) => {
    expect(keeps([filter(type, operator, value)], { p: property })).toBe(expected);
  });

  it('all filters of a list must match, and any list of several', () => {
    const a = filter('number', 'eq', 1, 'a');
    const b = filter('number', 'eq', 2, 'b');
    expect(keeps([a, b], { a: 1, b: 2 })).toBe(true);
    expect(keeps([a, b], { a: 1, b: 3 })).toBe(false);
    expect(keeps([[a], [b]], { a: 1, b: 3 })).toBe(true);
    expect(keeps([[a], [b]], { a: 0, b: 0 })).toBe(false);
  });

  it('missing properties count as configured', () => {
    const filters = [filter('string', 'is_not', 'x')];
    expect(keeps(filters, {})).toBe(false);
    expect(keeps(filters, {}, { keepUndefinedProperties: 'Yes' })).toBe(true);
    expect(keeps([filter('string', 'is', 'x', 'constructor')], {})).toBe(false);
    expect(keeps([filter('string', 'is', 'x', '__proto__')], parsed('{"__proto__": "x"}'))).toBe(true);
  });

  it('named events are dropped regardless of their properties', () => {
    const settings = { eventsToDrop: 'a, b' };
    expect(transform(filterOut, settings, { event: 'b' })).toBeNull();
    expect(transform(filterOut, settings, { event: 'c' })).not.toBeNull();
    expect(transform(filterOut, settings, { event: 'constructor' })).not.toBeNull();
  });

  it('the filters may be a file', () => {
    const host = attached(JSON.stringify([filter('number', 'gt', 5)]));
    expect(transform(filterOut, {}, { properties: { p: 6 } }, host)).not.toBeNull();
    expect(transform(filterOut, {}, { properties: { p: 4 } }, host)).toBeNull();
    expect(() => filterOut.create({}, attached('{'))).toThrow('the file "filters": expected JSON');
  });

  it('a backtracking pattern costs no time', () => {
    const started = process.cpuUsage();
    expect(keeps([filter('string', 'regex', '^(a+)+$')], { p: `${'a'.repeat(5000)}!` })).toBe(false);
    expect(process.cpuUsage(started).user).toBeLessThan(2_000_000);
  });

  it.each([
    [{}, 'with neither, nothing would be filtered'],
    [{ filtersJson: '[]' }, 'with neither, nothing would be filtered'],
    [{ filtersJson: '{}' }, 'expected a JSON list'],
    [{ filtersJson: '["x"]' }, 'expected objects'],
    [{ filtersJson: '[[], {}]' }, 'group 2: expected a list'],
    [{ filtersJson: [{ type: 'string', operator: 'is', value: 'x' }] }, '"property" is missing'],
    [{ filtersJson: [filter('text', 'is', 'x')] }, '"type" must be string, number, boolean'],
    [{ filtersJson: [filter('string', 'constructor', 'x')] }, '"operator" must be one of is, is_not'],
    [{ filtersJson: [filter('number', 'gt', '5')] }, '"value" must be a number'],
    [{ filtersJson: [filter('string', 'regex', '(')] }, 'expected a regular expression'],
  ])('refuses %j', (settings, message) => {
    expect(() => filterOut.create(settings, testHost())).toThrow(message);
  });
});
