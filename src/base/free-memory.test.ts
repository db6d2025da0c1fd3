import { expect, it } from 'vitest';
import { freeMemory } from './free-memory.ts';

it('the memory of a large view is freed immediately, shared memory is kept', () => {
  const large = Buffer.alloc(1 << 20);
  const batch = new Int32Array(3000);
  const shared = new Uint8Array(new SharedArrayBuffer(1 << 20));
  for (const view of [large, batch, shared]) freeMemory(view);
  expect([large.length, batch.length, shared.length]).toEqual([0, 0, 1 << 20]);
});

it('small buffers, which share one pool, keep their bytes', () => {
  const small = Array.from({ length: 100 }, (_, index) => Buffer.from(`number ${index}`));
  const medium = Array.from({ length: 10 }, (_, index) => Buffer.allocUnsafe(20_000).fill(index));
  for (const each of [...small.slice(0, 50), ...medium.slice(0, 5)]) freeMemory(each);
  expect(small.map(String)).toEqual(small.map((_, index) => `number ${index}`));
  expect(medium.map(([first]) => first)).toEqual(medium.map((_, index) => index));
});

it('memory that is already freed is not an error', () => {
  const view = Buffer.alloc(1 << 20);
  freeMemory(view);
  expect(() => freeMemory(view)).not.toThrow();
});
