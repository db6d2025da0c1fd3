import { expect, it } from 'vitest';
import { RowPacker, unpackRows } from './packed-rows.ts';

const sizes = [0, 1, 300, 16 * 1024, 16 * 1024 + 1, 5, 100_000, 70, ...Array.from({ length: 100 }, () => 16_000)];

it('rows are unpacked as they were packed, with small and large bodies, also in the next round', () => {
  const packer = new RowPacker();
  for (const round of [1, 2]) {
    const rows = sizes.map((bytes, n) => ({
      header: `${round} ${n}`,
      events: n,
      body: new Uint8Array(bytes).fill(n + round),
    }));
    for (const { header, events, body } of rows) packer.add(header, events, body.slice());
    expect(packer.count).toBe(rows.length);
    const { rows: packed, transfer } = packer.take();
    expect(unpackRows(structuredClone(packed, { transfer: [...transfer] }))).toEqual(rows);
    expect(packer.count).toBe(0);
  }
});

it('a body is owned from the moment it is added: later changes to a small view have no effect', () => {
  const packer = new RowPacker();
  const body = new Uint8Array([1, 2, 3]);
  packer.add('a', 1, body);
  body.fill(9);
  expect(unpackRows(packer.take().rows)).toEqual([{ header: 'a', events: 1, body: new Uint8Array([1, 2, 3]) }]);
});
