import { randomBytes } from 'node:crypto';
import { brotliCompressSync, constants, deflateSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createEncodingInflater, otherEncodings } from './inflate-encoding.ts';

const limits = { inflatedBytesMax: 64 * 1024 * 1024 };
const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const pack = { deflate: deflateSync, br: (bytes: Buffer) => brotliCompressSync(bytes, fast), zstd: zstdCompressSync };

/** Not random: in 1 of 28 cases the first random byte is a complete, empty br stream followed by garbage. */
const damaged = Buffer.alloc(2_000_000, 'no such format');

describe.each(otherEncodings)('a body in %s', (encoding) => {
  it.each([
    ['small', Buffer.from('{"a":1}')],
    ['small when compressed and large when unpacked', Buffer.alloc(20_000_000, 'abc')],
    ['large when compressed', randomBytes(6_000_000)],
  ])('that is %s is unpacked completely', async (_name, plain) => {
    const unpacked = await createEncodingInflater()(pack[encoding](plain), encoding, limits);
    expect(unpacked.equals(plain)).toBe(true);
  });

  it.each([
    ['small and damaged', Buffer.from('no such format'), limits],
    ['large and damaged', damaged, limits],
    ['cut off', pack[encoding](randomBytes(6_000_000)).subarray(0, 5_000_000), limits],
  ])('that is %s is refused as damaged', async (_name, bytes, within) => {
    const refusal = createEncodingInflater()(bytes, encoding, within);
    const code: unknown = expect.stringMatching(/^(?!ERR_BUFFER_TOO_LARGE)(Z_|ZSTD_|ERR_)/);
    await expect(refusal).rejects.toMatchObject({ code });
  });

  it.each([
    ['below the size unpacked in place', Buffer.alloc(1_001), 1_000],
    ['above the size unpacked in place', Buffer.alloc(20_000_001), 20_000_000],
    ['for a body that is large when compressed', randomBytes(1_000_001), 1_000_000],
  ])('is accepted at a limit %s and refused one byte above it', async (_name, plain, inflatedBytesMax) => {
    const unpack = createEncodingInflater();
    const tooLarge = { code: 'ERR_BUFFER_TOO_LARGE' };
    await expect(unpack(pack[encoding](plain), encoding, { inflatedBytesMax })).rejects.toMatchObject(tooLarge);
    const fits = await unpack(pack[encoding](plain.subarray(1)), encoding, { inflatedBytesMax });
    expect(fits.length).toBe(inflatedBytesMax);
  });

  it('that is large does not block the event loop, even after a refused one', async () => {
    const unpack = createEncodingInflater();
    const body = pack[encoding](Buffer.alloc(60_000_000, 'abc'));
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 1);
    const refused = unpack(damaged, encoding, limits).then(
      () => 'taken',
      () => 'refused',
    );
    const sizes = [body, body, body].map(async (each) => (await unpack(each, encoding, limits)).length);
    expect(await Promise.all([refused, ...sizes])).toEqual(['refused', 60_000_000, 60_000_000, 60_000_000]);
    clearInterval(ticking);
    expect(ticks).toBeGreaterThan(10);
  });
});
