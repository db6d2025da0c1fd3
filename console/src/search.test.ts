import { expect, it } from 'vitest';
import { flag, integer, oneOf, searchOf, text, texts } from './search.ts';

const read = searchOf({ q: text, page: integer, live: flag, order: oneOf('up', 'down'), columns: texts });

it('declared parameters of the right type are read', () => {
  const whole = { q: 'x', page: 2, live: true, order: 'up', columns: ['a', 'b'] };
  expect(read(whole)).toEqual(whole);
  expect(read({ q: 42 })).toEqual({ q: '42' });
});

it('unknown parameters and values of another type are dropped', () => {
  expect(
    read({ q: { x: 1 }, page: 1.5, live: 'yes', order: 'sideways', columns: [1], other: 'x', __proto__: 'y' }),
  ).toEqual({});
  expect(read({ q: '', columns: [] })).toEqual({});
});
