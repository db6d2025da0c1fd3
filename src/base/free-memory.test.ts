import { expect, it } from 'vitest';
import { freeMemory } from './free-memory.ts';

it('the memory of a large view is given back at once, shared memory stays', () => {
  const large = Buffer.alloc(1 << 20);
  const shared = new Uint8Array(new SharedArrayBuffer(1 << 20));
  for (const view of [large, shared]) freeMemory(view);
  expect([large.length, shared.length]).toEqual([0, 1 << 20]);
});

it('small buffers, which share one pool, keep their bytes', () => {
  const small = Array.from({ length: 100 }, (_, index) => Buffer.from(`number ${index}`));
  for (const each of small.slice(0, 50)) freeMemory(each);
  expect(small.map(String)).toEqual(small.map((_, index) => `number ${index}`));
});

it('memory that is gone already is no error', () => {
  const view = Buffer.alloc(1 << 20);
  freeMemory(view);
  expect(() => freeMemory(view)).not.toThrow();
});
