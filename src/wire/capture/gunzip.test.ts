import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../contract/errors.ts';
import { createGunzipper, gunzip } from './gunzip.ts';

const limits = { inflatedBytesMax: 64 * 1024 * 1024 };

async function outcome(work: () => Buffer | Promise<Buffer>): Promise<string> {
  try {
    return `${(await work()).length} bytes`;
  } catch (error) {
    if (error instanceof ApiError) return `${error.status} ${error.detail}`;
    throw error;
  }
}

describe('unpacking in place and in another thread:', () => {
  // Random parts keep the compressed body large enough for the thread.
  const small = gzipSync(randomBytes(2000));
  const large = gzipSync(Buffer.concat([randomBytes(100_000), Buffer.alloc(6_000_000, 'x')]));
  const withTail = (bytes: Buffer, tail: number): Buffer => {
    const changed = Buffer.from(bytes);
    changed.writeUInt32LE(tail, bytes.length - 4);
    return changed;
  };
  const flipped = (bytes: Buffer): Buffer => {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(bytes.length - 6) ^ 1, bytes.length - 6);
    return changed;
  };
  const changes: readonly [string, (bytes: Buffer) => Buffer, RegExp][] = [
    ['whole', (bytes) => bytes, /bytes$/],
    ['with two members', (bytes) => Buffer.concat([bytes, bytes]), /bytes$/],
    ['with a large member before a small one', (bytes) => Buffer.concat([bytes, gzipSync('x')]), /bytes$/],
    ['cut off', (bytes) => bytes.subarray(0, -9), /^400 .*unexpected end of file/],
    ['with a wrong checksum', flipped, /^400 .*incorrect data check/],
    ['with a claimed size of 1', (bytes) => withTail(bytes, 1), /^400 .*incorrect length check/],
    ['with a claimed size of 4 GB', (bytes) => withTail(bytes, 0xffff_ffff), /^400 .*incorrect length check/],
    ['with trailing zeros', (bytes) => Buffer.concat([bytes, Buffer.alloc(8)]), /^400 .*8 more bytes/],
  ];
  it.each(changes)('the result is the same for a body %s', async (_name, change, expected) => {
    for (const body of [change(small), change(large)]) {
      const inPlace = await outcome(() => gunzip(body, limits));
      expect(inPlace).toMatch(expected);
      expect(await outcome(() => createGunzipper()(body, limits))).toBe(inPlace);
    }
  });

  it('the limit is the same', async () => {
    const above = gzipSync(Buffer.alloc(2 * limits.inflatedBytesMax));
    for (const body of [above, withTail(above, 10)]) {
      expect(await outcome(() => gunzip(body, limits))).toMatch(/^413 .*67108864 bytes/);
      expect(await outcome(() => createGunzipper()(body, limits))).toMatch(/^413 .*67108864 bytes/);
    }
  });
});

describe('a large body', () => {
  it('does not block the event loop', async () => {
    const unpack = createGunzipper();
    const body = gzipSync(Buffer.alloc(60_000_000, 'abc'));
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 1);
    const sizes = await Promise.all([body, body, body].map(async (each) => (await unpack(each, limits)).length));
    clearInterval(ticking);
    expect(sizes).toEqual([60_000_000, 60_000_000, 60_000_000]);
    expect(ticks).toBeGreaterThan(10);
  });

  it('with a tiny claimed size takes a few turns of the event loop, not one for each kilobyte', async () => {
    const whole = gzipSync(Buffer.concat([randomBytes(100_000), Buffer.alloc(32 * 1024 * 1024)]), { level: 1 });
    const lying = Buffer.concat([whole, Buffer.alloc(8)]);
    let turns = 0;
    let isUnpacking = true;
    // Keeps the loop busy, so that its turns can be counted.
    const turn = (): void => {
      turns += 1;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3);
      if (isUnpacking) setImmediate(turn);
    };
    turn();
    expect(await outcome(() => createGunzipper()(lying, limits))).toMatch(/^400 .*8 more bytes/);
    isUnpacking = false;
    // One turn per kilobyte would be 32,000.
    expect(turns).toBeLessThan(4000);
  });
});
