import { describe, expect, it } from 'vitest';
import { encodeFrame, frameBytesMax, FrameReader, type StoreResponse } from './frames.ts';

describe('frames', () => {
  const bodies = [Buffer.alloc(0), Buffer.from('ü\n'), Buffer.alloc(5000, 7)];
  const wire = Buffer.concat(bodies.map((body, id) => encodeFrame({ id, ok: true }, body)));

  it.each([1, 2, 3, 5, 7, 64, 4999, 100_000])('come out whole when the bytes come in pieces of %i', (size) => {
    const reader = new FrameReader<StoreResponse>();
    const found = [];
    for (let at = 0; at < wire.length; at += size) found.push(...reader.push(wire.subarray(at, at + size)));
    expect(found).toEqual(bodies.map((body, id) => ({ header: { id, ok: true }, body })));
  });

  it('refuses a length that no frame has', () => {
    for (const length of [0, 3, frameBytesMax + 1, 2 ** 32 - 1]) {
      const head = Buffer.alloc(4);
      head.writeUInt32LE(length);
      expect(() => new FrameReader().push(head)).toThrow(/expected a frame/);
    }
  });
});
