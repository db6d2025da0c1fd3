import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../contract/errors.ts';
import {
  decodeBody as decodeWith,
  refuseLargeWrapped,
  wrappedBytesMax,
  lz64BytesMax,
  type BodyHints,
  type DecodedBody,
} from './decode.ts';
import { createGunzipper, type InflateLimits } from './gunzip.ts';

/** Body forms are tested over HTTP in routes.test.ts; these tests need direct access to memory and bytes. */
const limits = { inflatedBytesMax: 4 * 1024 * 1024 };
const json = Buffer.from('[{"event":"a","distinct_id":"b"}]');

const decodeBody = (body: Buffer, hints: BodyHints, within: InflateLimits): Promise<DecodedBody> =>
  decodeWith(body, hints, within, createGunzipper());

async function refusal(work: () => Promise<unknown>): Promise<ApiError> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('expected a refusal');
}

/** Measures the buffer bytes that the work has allocated and not freed when it throws, without running the collector. */
async function growth(work: () => Promise<unknown>): Promise<{ error: ApiError; bytes: number }> {
  const before = process.memoryUsage();
  const error = await refusal(work);
  const after = process.memoryUsage();
  return { error, bytes: after.arrayBuffers + after.external - before.arrayBuffers - before.external };
}

describe('bombs', () => {
  const bomb = gzipSync(Buffer.alloc(500_000_000));
  const lying = Buffer.from(bomb);
  lying.writeUInt32LE(10, lying.length - 4);
  it.each([
    ['with its true size', bomb],
    ['with a false size', lying],
    ['in base64', Buffer.from(bomb.toString('base64'))],
  ])('answers 413 to a gzip bomb %s, with memory bounded by the limit', async (_name, body) => {
    const { error, bytes } = await growth(() => decodeBody(body, {}, limits));
    expect([error.status, error.detail]).toEqual([413, expect.stringContaining('4194304 bytes')]);
    expect(bytes).toBeLessThan(4 * limits.inflatedBytesMax);
  });

  it('allocates no memory for a trailer that claims 4 GB', async () => {
    const claimed = gzipSync(json);
    claimed.writeUInt32LE(0xffff_ffff, claimed.length - 4);
    const { error, bytes } = await growth(() => decodeBody(claimed, {}, limits));
    expect(error.status).toBe(400);
    expect(bytes).toBeLessThan(2_000_000);
  });

  it('answers 413 to base64 larger than the limit', async () => {
    const large = Buffer.alloc(limits.inflatedBytesMax * 2, 'A');
    expect((await refusal(() => decodeBody(large, {}, limits))).status).toBe(413);
  });
});

describe('decoding on the event loop', () => {
  const form = (data: string): Buffer => Buffer.from(`data=${data}`);
  it.each([
    ['a form', form('A'.repeat(wrappedBytesMax)), {}, 413],
    ['base64', Buffer.alloc(wrappedBytesMax + 4, 'A'), {}, 413],
    ['lz64', Buffer.alloc(lz64BytesMax + 1, 'A'), { queryCompression: 'lz64' }, 413],
    ['a form with many fields', form(`e30=${'&a=b'.repeat(20)}`), {}, 400],
  ])('limits %s separately', async (_name, body, hints, status) => {
    const wide = { inflatedBytesMax: 100 * 1024 * 1024 };
    expect((await refusal(() => decodeBody(body, hints, wide))).status).toBe(status);
  });

  it.each([
    ['a form', 'data=e30', 413],
    ['base64 or lz64', 'e30=', 413],
    ['bytes of no known form', '\u0000', 413],
    ['JSON', '{"batch"', undefined],
    ['JSON after white space', ' \r\n\t[', undefined],
    ['only white space', ' \n', undefined],
    ['gzip', '\u001f\u008b', undefined],
  ])('decides about a large body by its first bytes, before keeping it: %s', (_name, start, status) => {
    const statusOf = (bytes: number) => refuseLargeWrapped(Buffer.from(start, 'latin1'), bytes)?.status;
    expect([statusOf(wrappedBytesMax), statusOf(wrappedBytesMax + 1)]).toEqual([undefined, status]);
  });
});

describe('gzip', () => {
  it('with several members is one body', async () => {
    const packed = Buffer.concat([gzipSync(json.subarray(0, 10)), gzipSync(json.subarray(10))]);
    const decoded = await decodeBody(packed, {}, limits);
    expect(decoded.json.equals(json)).toBe(true);
    expect([decoded.encoding, decoded.body === packed]).toEqual(['gzip', true]);
  });

  it('is accepted at the limit and refused one byte above it', async () => {
    const exact = Buffer.alloc(limits.inflatedBytesMax, ' ');
    exact.write('[]');
    expect((await decodeBody(gzipSync(exact), {}, limits)).json.length).toBe(limits.inflatedBytesMax);
    const above = Buffer.concat([exact, Buffer.from(' ')]);
    expect((await refusal(() => decodeBody(gzipSync(above), {}, limits))).status).toBe(413);
  });

  it('inside gzip is unpacked once, so that it fails as invalid JSON', async () => {
    const twice = await decodeBody(gzipSync(gzipSync(json)), {}, limits);
    expect(twice.json[0]).toBe(0x1f);
  });
});
