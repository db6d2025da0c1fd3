import { expect, it } from 'vitest';
import { flag, integer, oneOf, searchOf, text, texts } from './search.ts';

const read = searchOf({ q: text, page: integer, live: flag, order: oneOf('up', 'down'), columns: texts });

it('what an address may hold is read, each of its kind', () => {
  const whole = { q: 'x', page: 2, live: true, order: 'up', columns: ['a', 'b'] };
  expect(read(whole)).toEqual(whole);
  expect(read({ q: 42 })).toEqual({ q: '42' });
});

it('anything else is dropped, whatever somebody typed', () => {
  expect(
    read({ q: { x: 1 }, page: 1.5, live: 'yes', order: 'sideways', columns: [1], other: 'x', __proto__: 'y' }),
  ).toEqual({});
  expect(read({ q: '', columns: [] })).toEqual({});
});
