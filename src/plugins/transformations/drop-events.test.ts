import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../base/json.ts';
import { dropEvents } from './drop-events.ts';
import { parsed, transform } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';

function drops(settings: Record<string, string>, properties: JsonObject, event = 'tested'): boolean {
  return transform(dropEvents, settings, { event, properties }) === null;
}

const condition = (property: string, operator: string, value?: unknown): Record<string, string> => ({
  conditions: JSON.stringify([{ property, operator, ...(value === undefined ? {} : { value }) }]),
});

describe('drop events', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = dropEvents.example;
    expect(transform(dropEvents, settings, before)).toEqual(after);
  });

  it('drops only the named events', () => {
    const settings = { events: ' a , b\nc,' };
    for (const name of ['a', 'b', 'c']) expect(drops(settings, {}, name)).toBe(true);
    for (const name of ['A', 'd', '', 'constructor', '__proto__']) expect(drops(settings, {}, name)).toBe(false);
  });

  it.each([
    ['is', 'x', { p: 'x' }, true],
    ['is', 'x', { p: 'X' }, false],
    ['is', ['x', 'y'], { p: 'y' }, true],
    ['is', 5, { p: '5' }, true],
    ['is', true, { p: true }, true],
    ['is', 'x', {}, false],
    ['is', null, { p: null }, true],
    ['is_not', 'x', { p: 'y' }, true],
    ['is_not', 'x', {}, true],
    ['is_not', 'x', { p: 'x' }, false],
    ['contains', 'BOT', { p: 'a robot' }, true],
    ['contains', 'bot', { p: 5 }, false],
    ['contains', 'b', { p: { a: 'b' } }, true],
    ['not_contains', 'bot', {}, true],
    ['not_contains', 'bot', { p: 'bot' }, false],
    ['is_set', undefined, { p: 0 }, true],
    ['is_set', undefined, { p: null }, false],
    ['is_not_set', undefined, {}, true],
    ['is_not_set', undefined, { p: '' }, false],
    ['gt', 5, { p: 6 }, true],
    ['gt', '5', { p: '5.5' }, true],
    ['gt', 5, { p: 'many' }, false],
    ['gt', 5, {}, false],
    ['lt', 5, { p: 4 }, true],
    ['lt', 5, { p: null }, false],
    ['lt', 5, { p: '' }, false],
  ] as const)('%s %j of %j: dropped is %s', (operator, value, properties, expected) => {
    expect(drops(condition('p', operator, value), properties as JsonObject)).toBe(expected);
  });

  it('reads nested properties and those whose name has a dot', () => {
    const settings = condition('a.b', 'is', 1);
    expect(drops(settings, { a: { b: 1 } })).toBe(true);
    expect(drops(settings, { 'a.b': 1 })).toBe(true);
    expect(drops(settings, { a: 1 })).toBe(false);
    expect(drops(settings, { a: [1] })).toBe(false);
  });

  it('never treats an object member as a property', () => {
    for (const name of ['constructor', '__proto__', 'toString', 'a.constructor']) {
      expect(drops(condition(name, 'is_set'), { a: {} })).toBe(false);
    }
    expect(drops(condition('__proto__', 'is', 1), parsed('{"__proto__": 1}'))).toBe(true);
  });

  it('all conditions, or any of them; and the name too', () => {
    const conditions = JSON.stringify([
      { property: 'a', value: 1 },
      { property: 'b', value: 2 },
    ]);
    expect(drops({ conditions }, { a: 1 })).toBe(false);
    expect(drops({ conditions }, { a: 1, b: 2 })).toBe(true);
    expect(drops({ conditions, match: 'Any' }, { b: 2 })).toBe(true);
    expect(drops({ conditions, match: 'Any', events: 'other' }, { b: 2 })).toBe(false);
  });

  it.each([
    [{}, 'every event would be dropped'],
    [{ events: ' , ' }, 'every event would be dropped'],
    [{ conditions: '[]' }, 'every event would be dropped'],
    [{ conditions: '["x"]' }, 'entry 1: expected an object'],
    [{ conditions: '[{"operator":"is","value":1}]' }, '"property" is missing'],
    [{ conditions: '[{"property":"p","operator":"like","value":1}]' }, '"operator" must be one of is,'],
    [{ conditions: '[{"property":"p","operator":"constructor","value":1}]' }, '"operator" must be one of'],
    [{ conditions: '[{"property":"p"}]' }, '"value" is missing'],
    [{ conditions: '[{"property":"p","operator":"gt","value":"x"}]' }, '"value" must be a number'],
    [{ conditions: '{' }, 'expected JSON'],
  ])('refuses %j', (settings, message) => {
    expect(() => dropEvents.create(settings, testHost())).toThrow(message);
  });
});
