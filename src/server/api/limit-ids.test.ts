import { expect, it } from 'vitest';
import { limitIds } from './limit-ids.ts';

it('a person with more ids than a response may contain shows the first ones and their number', () => {
  const ids = Array.from({ length: 20_000 }, (_, n) => `id${n}`);
  const limited = limitIds({ id: 'p', distinct_ids: ids }, 25);
  expect(limited).toEqual({ id: 'p', distinct_ids: ids.slice(0, 25), distinct_ids_total: 20_000 });
  expect(limitIds({ distinct_ids: ['a'] }, 25)).toEqual({ distinct_ids: ['a'], distinct_ids_total: 1 });
});
