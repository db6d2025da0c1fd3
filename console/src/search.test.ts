import { expect, it } from 'vitest';
import { flag, integer, oneOf, searchOf, text, texts } from './search.ts';

const read = searchOf({ q: text, page: integer, live: flag, order: oneOf('up', 'down'), columns: texts });

it('declared parameters of the right type are read', () => {
  const whole = { q: 'x', page: 2, live: true, order: 'up', columns: ['a', 'b'] };
  expect(read(whole)).toEqual(whole);
  expect(read({ q: 42 })).toEqual({ q: '42' });
});

it('values of another type become undefined, and undeclared parameters are not read', () => {
  const none = { q: undefined, page: undefined, live: undefined, order: undefined, columns: undefined };
  expect(
    read({ q: { x: 1 }, page: 1.5, live: 'yes', order: 'sideways', columns: [1], other: 'x', __proto__: 'y' }),
  ).toStrictEqual(none);
  expect(read({ q: '', columns: [] })).toStrictEqual(none);
});
