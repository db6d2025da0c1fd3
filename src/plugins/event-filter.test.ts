import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { checkEventFilter, readEventFilter, withoutEventFilter } from './event-filter.ts';

const eventOf = (event: string, properties: JsonObject = {}) => ({ event, properties });

describe('the filter of a transformation', () => {
  it.each<[string, JsonValue, ReturnType<typeof eventOf>, boolean]>([
    ['a name', { events: ['seen'] }, eventOf('seen'), true],
    ['another name', { events: ['seen'] }, eventOf('Seen'), false],
    ['a pattern', { events: ['order *', 'x'] }, eventOf('order done'), true],
    ['a star at both ends', { events: ['*page*'] }, eventOf('$pageview'), true],
    ['a pattern as long as the name', { events: ['aba*aba'] }, eventOf('aba'), false],
    ['a property', { properties: [{ property: '$host', value: 'a' }] }, eventOf('x', { $host: 'a' }), true],
    ['a list of values', { properties: [{ property: 'n', value: ['1', '2'] }] }, eventOf('x', { n: 2 }), true],
    ['a missing property', { properties: [{ property: '$host', value: 'a' }] }, eventOf('x'), false],
    ['an inherited name', { properties: [{ property: 'constructor', operator: 'is_set' }] }, eventOf('x'), false],
    [
      'a nested one',
      { properties: [{ property: 'a.b', operator: 'gt', value: 5 }] },
      eventOf('x', { a: { b: 6 } }),
      true,
    ],
    ['a condition as an object', { properties: { property: 'a', operator: 'is_not_set' } }, eventOf('x'), true],
    ['JSON as text', '{"events":["seen"]}', eventOf('other'), false],
    [
      'name and property',
      { events: ['x'], properties: [{ property: 'a', value: '1' }] },
      eventOf('x', { a: '2' }),
      false,
    ],
  ])('%s', (_name, $filter, event, passes) => {
    expect(readEventFilter({ $filter })?.(event)).toBe(passes);
  });

  it('requires all conditions, or any with "match"', () => {
    const properties = [
      { property: 'a', value: '1' },
      { property: 'b', value: '1' },
    ];
    const event = eventOf('x', { a: '1' });
    expect(readEventFilter({ $filter: { properties } })?.(event)).toBe(false);
    expect(readEventFilter({ $filter: { properties, match: 'any' } })?.(event)).toBe(true);
    // The name must match in either case.
    expect(readEventFilter({ $filter: { events: ['y'], properties, match: 'any' } })?.(event)).toBe(false);
  });

  it.each<[string, JsonValue]>([
    ['nothing', ''],
    ['null', null],
    ['an empty object', {}],
    ['empty lists', { events: [], properties: [] }],
  ])('%s means every event', (_name, $filter) => {
    expect(readEventFilter({ $filter })).toBeUndefined();
  });

  it.each<[string, JsonValue, string]>([
    ['a list', ['seen'], 'expected an object with "events", "properties" or both'],
    ['a misspelt member', { event: ['seen'] }, 'expected "events", "properties" and "match", got "event"'],
    ['a name instead of a list', { events: 'seen' }, '"events" must be a list of event names'],
    ['an empty name', { events: [''] }, '"events" must be a list of event names'],
    [
      'an unknown operator',
      { properties: [{ property: 'a', operator: 'like', value: 1 }] },
      '"operator" must be one of',
    ],
    ['no value', { properties: [{ property: 'a' }] }, '"value" is missing'],
    ['text for a number', { properties: [{ property: 'a', operator: 'lt', value: 'x' }] }, '"value" must be a number'],
    ['another match', { events: ['a'], match: 'none' }, '"match" must be "all" or "any"'],
  ])('%s is refused', (_name, $filter, message) => {
    const [fault] = checkEventFilter({ $filter });
    expect(fault).toMatchObject({ code: 'invalid_input', attr: 'settings.$filter' });
    expect(fault?.detail).toContain(message);
  });

  it('is no setting of the transformation itself', () => {
    expect(withoutEventFilter({ events: 'x', $filter: {} })).toEqual({ events: 'x' });
  });
});
