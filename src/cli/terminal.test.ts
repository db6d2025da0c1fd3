import { expect, it } from 'vitest';
import { shortName } from './terminal.ts';

it('a name of 201 characters takes 80 columns of a table, and shorter ones are unchanged', () => {
  expect(shortName('n'.repeat(201))).toBe(`${'n'.repeat(79)}…`);
  expect(shortName('n'.repeat(80))).toBe('n'.repeat(80));
  expect(shortName('Заказ оформлен')).toBe('Заказ оформлен');
});
