import { expect, it } from 'vitest';
import { chosen, movedTo } from './chain-order.ts';

const step = (name: string, enabled: boolean, error = '') => ({
  name,
  enabled,
  error,
  description: '',
  plugin_info: '{"name":"Drop"}',
});

it('an item moves to its new place, the others keep their order', () => {
  expect(movedTo(['a', 'b', 'c'], 0, 2)).toEqual(['b', 'c', 'a']);
  expect(movedTo(['a', 'b', 'c'], 2, 0)).toEqual(['c', 'a', 'b']);
  expect(movedTo(['a', 'b', 'c'], 9, 0)).toEqual(['a', 'b', 'c']);
});

it('finds by part of name or plugin, and by state', () => {
  const all = [step('One', true), step('Two', false), step('Three', true, 'It cannot be set up.')];
  expect(chosen(all, { q: ' ONE ' }).map(({ name }) => name)).toEqual(['One']);
  expect(chosen(all, { q: 'drop' })).toHaveLength(3);
  expect(chosen(all, { state: 'on' }).map(({ name }) => name)).toEqual(['One', 'Three']);
  expect(chosen(all, { state: 'failing' }).map(({ name }) => name)).toEqual(['Three']);
});
