import { expect, it } from 'vitest';
import { filtered, movedTo } from './chain-order.ts';

const step = (name: string, enabled: boolean, error = '') => ({
  name,
  enabled,
  error,
  description: '',
  plugin_info: '{"name":"Drop"}',
});

it('an item moves to its new index and the others keep their order', () => {
  expect(movedTo(['a', 'b', 'c'], 0, 2)).toEqual(['b', 'c', 'a']);
  expect(movedTo(['a', 'b', 'c'], 2, 0)).toEqual(['c', 'a', 'b']);
  expect(movedTo(['a', 'b', 'c'], 9, 0)).toEqual(['a', 'b', 'c']);
});

it('filters by part of the name or plugin, and by state', () => {
  const all = [step('One', true), step('Two', false), step('Three', true, 'It cannot be set up.')];
  expect(filtered(all, { q: ' ONE ' }).map(({ name }) => name)).toEqual(['One']);
  expect(filtered(all, { q: 'drop' })).toHaveLength(3);
  expect(filtered(all, { state: 'on' }).map(({ name }) => name)).toEqual(['One', 'Three']);
  expect(filtered(all, { state: 'failing' }).map(({ name }) => name)).toEqual(['Three']);
});
